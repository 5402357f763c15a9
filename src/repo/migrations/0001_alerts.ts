import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Rules of alerts, and alerts. An alert has no foreign key but its rule's, so that one about something that was deleted is
 * over with a message. The automatic pause of a webhook is an alert without a rule.
 */
export const alerts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.alert_rules (
      id uuid primary key,
      condition text not null,
      threshold float8 not null,
      window_hours integer,
      webhook_id uuid references webhook_trigger.webhooks on delete cascade,
      team text collate "C" references webhook_trigger.teams on delete cascade,
      destination_ids json,
      enabled boolean not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    )`
  yield* sql`create index alert_rules_webhook on webhook_trigger.alert_rules (webhook_id) where webhook_id is not null`
  yield* sql`create index alert_rules_team on webhook_trigger.alert_rules (team) where team is not null`

  yield* sql`
    create table webhook_trigger.alerts (
      id uuid primary key,
      rule_id uuid references webhook_trigger.alert_rules on delete cascade,
      subject text not null,
      condition text not null,
      state text not null check (state in ('pending', 'firing', 'resolved')),
      name text not null,
      webhook_id uuid,
      team text,
      destination_id uuid,
      threshold float8 not null,
      value float8 not null,
      since timestamptz(3) not null,
      resolved_at timestamptz(3),
      notified_at timestamptz(3),
      check ((state = 'resolved') = (resolved_at is not null))
    )`
  yield* sql`create unique index alerts_open on webhook_trigger.alerts (rule_id, subject) where state <> 'resolved'`
  yield* sql`create index alerts_rule on webhook_trigger.alerts (rule_id)`
  yield* sql`create index alerts_notified on webhook_trigger.alerts (notified_at)`
  yield* sql`create index alerts_resolved on webhook_trigger.alerts (resolved_at)`

  // One row: when a server began to measure. It is locked while alerts begin and end.
  yield* sql`
    create table webhook_trigger.alert_state (
      one boolean primary key default true check (one),
      measured_at timestamptz(3) not null
    )`
  yield* sql`insert into webhook_trigger.alert_state (measured_at) values ('-infinity')`
})
