import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { earlyEvents, eventOfStatus, startEvent } from "../../domain/delivery/DestinationEvent.ts"
import { channel } from "../database/Notifications.ts"
import { callerBuckets } from "../delivery/CallerBucket.ts"

const events = Object.entries(eventOfStatus)
  .map(([status, event]) => `when '${status}' then '${event}'`)
  .join(" ")

/** `bucketOf`, of a destination `d` and the `callback_url` of this name. */
export const bucketOf = (callback_url: string): string => `
  case d.kind when 'callback' then 1 + get_byte(sha256(convert_to(
    substring(substr(${callback_url}, length(d.url) + 1) from '^[^/?&]*'), 'UTF8'
  )), 0) % ${callerBuckets} else 0 end`

/** The events before the end of a run, as SQL. */
export const early = `(${earlyEvents.map((event) => `'${event}'`).join(", ")})`

/** Whether a destination `d` wants one of them: as the index has it. */
export const wantsEarly = `(${earlyEvents.map((event) => `d.events::text like '%"${event}"%'`).join(" or ")})`

/**
 * Destinations, and what is sent to them. One without a webhook gets alerts. The statement that ends a run writes its deliveries, by a trigger: whichever
 * statement it is, none can forget it. For a webhook without destinations that is one look into an index.
 */
export const deliveries = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.destinations (
      id uuid primary key,
      webhook_id uuid references webhook_trigger.webhooks on delete cascade,
      kind text not null,
      url text not null,
      target text,
      authors json,
      chain_teams json,
      description text,
      events json not null,
      body text not null,
      template text,
      header_names json not null,
      sealed_headers text,
      sealed_secret text not null,
      old_sealed_secret text,
      secret_hint text not null,
      old_secret_valid_until timestamptz(3),
      enabled boolean not null,
      paused boolean,
      disabled_reason text,
      failing_since timestamptz(3),
      paused_until timestamptz(3),
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null
    )`
  yield* sql`create index destinations_webhook on webhook_trigger.destinations (webhook_id)`
  yield* sql.unsafe(
    `create index destinations_early on webhook_trigger.destinations (webhook_id) where ${wantsEarly.replaceAll("d.", "")}`
  )

  // The comment that all runs with one target share, and which delivery may write to it until when.
  yield* sql`
    create table webhook_trigger.comments (
      destination_id uuid not null references webhook_trigger.destinations on delete cascade,
      target text not null,
      comment_id text not null,
      primary key (destination_id, target)
    )`
  yield* sql`
    create table webhook_trigger.comment_writers (
      destination_id uuid primary key references webhook_trigger.destinations on delete cascade,
      delivery_id uuid not null,
      until timestamptz(3) not null
    )`

  // `made` counts the attempts of the schedule since it began, `attempts` has the newest attempts themselves. `bucket` is by
  // `bucketOf`. `message` is the chat message that was written, as in `ChatMessage`. Its `buttons` are `shown` until its run no
  // longer asks; then the delivery is due once more, and they are `ending`.
  yield* sql`
    create table webhook_trigger.deliveries (
      id uuid primary key default gen_random_uuid(),
      seq bigint generated always as identity,
      destination_id uuid not null references webhook_trigger.destinations on delete cascade,
      webhook_id uuid,
      run_id uuid references webhook_trigger.runs on delete cascade,
      alert_id uuid references webhook_trigger.alerts on delete cascade,
      event text not null,
      status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
      created_at timestamptz(3) not null,
      next_attempt_at timestamptz(3),
      claimed_until timestamptz(3),
      finished_at timestamptz(3),
      made integer not null default 0,
      attempts json not null default '[]',
      bucket smallint not null default 0,
      message text,
      message_thread text,
      buttons text check (buttons in ('shown', 'ending')),
      check (num_nonnulls(run_id, alert_id) = 1),
      check ((run_id is null) = (webhook_id is null)),
      check ((status = 'pending') = (next_attempt_at is not null)),
      check ((status = 'pending') = (finished_at is null))
    )`
  yield* sql`
    create index deliveries_due on webhook_trigger.deliveries (destination_id, bucket, next_attempt_at, seq)
      where status = 'pending'`
  yield* sql`create index deliveries_webhook on webhook_trigger.deliveries (webhook_id, seq)`
  yield* sql`create index deliveries_destination on webhook_trigger.deliveries (destination_id, seq)`
  yield* sql`create index deliveries_run on webhook_trigger.deliveries (run_id)`
  // A poll and the end of the run both write it.
  yield* sql.unsafe(`
    create unique index deliveries_early on webhook_trigger.deliveries (destination_id, run_id, event) where event in ${early}`)
  yield* sql`create index deliveries_message on webhook_trigger.deliveries (message) where message is not null`
  yield* sql`
    create index deliveries_message_thread on webhook_trigger.deliveries (message_thread)
      where message_thread is not null`
  yield* sql`create index deliveries_buttons on webhook_trigger.deliveries (created_at) where buttons = 'shown'`
  yield* sql`create index deliveries_alert on webhook_trigger.deliveries (alert_id) where alert_id is not null`

  yield* sql.unsafe(`
    create function webhook_trigger.deliver_ended_run() returns trigger language plpgsql as $$
      begin
        insert into webhook_trigger.deliveries (
          destination_id, webhook_id, run_id, event, created_at, next_attempt_at, bucket
        )
        select d.id, d.webhook_id, new.id, happened.event, happened.at, new.finished_at,
          ${bucketOf("new.callback_url")}
        from webhook_trigger.destinations d, (values
          ('${startEvent}', new.sent_at), (case new.status ${events} end, new.finished_at)
        ) as happened (event, at)
        where d.webhook_id = new.webhook_id and d.enabled and happened.at is not null
          and (d.kind <> 'callback' or starts_with(new.callback_url, d.url))
          and (d.kind <> 'chain' or new.retry_at is null)
          and happened.event in (select json_array_elements_text(d.events))
        on conflict (destination_id, run_id, event) where event in ${early} do nothing;
        if found then perform pg_notify('${channel}', 'DeliveryDue'); end if;
        return null;
      end
    $$`)
  yield* sql`
    create trigger runs_delivered after update of finished_at on webhook_trigger.runs
    for each row when (old.finished_at is null and new.finished_at is not null and new.webhook_id is not null)
    execute function webhook_trigger.deliver_ended_run()`

  // Whichever statement ends a delivery or sends it again, its run says whether one has failed. The runs are locked first,
  // so that the second statement sees what others have committed.
  yield* sql.unsafe(`
    create function webhook_trigger.show_failed_deliveries() returns trigger language plpgsql as $$
      declare
        changed uuid[];
      begin
        if tg_op = 'DELETE' then
          select array_agg(distinct b.run_id) into changed from before b where b.status = 'failed' and b.run_id is not null;
        else
          select array_agg(distinct a.run_id) into changed from before b join after a using (id)
          where b.status <> a.status and 'failed' in (b.status, a.status) and b.run_id is not null;
        end if;
        if changed is null then return null; end if;
        perform from webhook_trigger.runs where id = any(changed) order by id for no key update;
        update webhook_trigger.runs r set delivery_failed = nullif(failed.one, false)
        from (
          select r.id, exists (
            select from webhook_trigger.deliveries d where d.run_id = r.id and d.status = 'failed'
          ) as one
          from webhook_trigger.runs r where r.id = any(changed)
        ) as failed
        where r.id = failed.id and coalesce(r.delivery_failed, false) <> failed.one;
        return null;
      end
    $$`)
  yield* sql`
    create trigger deliveries_failed after update on webhook_trigger.deliveries
    referencing old table as before new table as after
    for each statement execute function webhook_trigger.show_failed_deliveries()`
  yield* sql`
    create trigger deliveries_deleted after delete on webhook_trigger.deliveries
    referencing old table as before
    for each statement execute function webhook_trigger.show_failed_deliveries()`
})
