import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * The templates that webhooks have had, each with the webhook's version in which it was set, and the version that a run was
 * made from. Servers of the release before write neither: what they change shows up with the next change by a server of
 * this one.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_trigger.runs add column webhook_version integer`
  yield* sql`
    create table webhook_trigger.webhook_templates (
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      version integer not null,
      prompt_template text not null,
      at timestamptz(3) not null,
      actor text not null,
      session_id text,
      client_address text,
      primary key (webhook_id, version)
    )`
  yield* sql`
    insert into webhook_trigger.webhook_templates (webhook_id, version, prompt_template, at, actor)
    select id, version, prompt_template, updated_at, 'unknown' from webhook_trigger.webhooks`
})
