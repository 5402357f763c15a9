import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Ends of runs are counted by hour and by day, and so are waiting runs, so that no page counts runs. A transaction that
 * accepts, admits, ends or deletes runs adds to `run_count_changes`. It only inserts there, so nothing waits for
 * anything else. `HistoryStore.rollUp` moves the changes into the tables of counts.
 *
 * A run that is admitted with its acceptance costs one such row, when it ends: 5 microseconds.
 */
export const counts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  for (const [table, column] of [
    ["run_counts", "status text"],
    // Milliseconds of successful runs, rounded by `webhook_trigger.duration_class`.
    ["run_durations", "took_ms integer"]
  ] as const) {
    const [name] = column.split(" ")
    yield* sql.unsafe(`
      create table webhook_trigger.${table} (
        webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
        hours smallint not null check (hours in (1, 24)),
        begins_at timestamptz(3) not null,
        ${column} not null,
        runs integer not null,
        primary key (webhook_id, hours, begins_at, ${name})
      )`)
    yield* sql.unsafe(`create index ${table}_age on webhook_trigger.${table} (hours, begins_at)`)
  }

  // Runs that are queued and not admitted. Chat messages have no webhook.
  yield* sql`
    create table webhook_trigger.lane_counts (
      team text collate "C" not null,
      webhook_id uuid,
      accepted_hour timestamptz(3) not null,
      runs integer not null,
      unique nulls not distinct (team, webhook_id, accepted_hour)
    )`

  // Short and written often, so it has neither a key nor an index. Only rows with status `queued` have a team.
  yield* sql`
    create table webhook_trigger.run_count_changes (
      team text collate "C",
      webhook_id uuid,
      accepted_hour timestamptz(3) not null,
      status text not null,
      took_ms integer,
      runs integer not null
    )`
  yield* sql`
    alter table webhook_trigger.run_count_changes set (
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 1000000000
    )`

  // One row. Older hours and days than these have been deleted.
  yield* sql`
    create table webhook_trigger.run_counts_state (
      one boolean primary key default true check (one),
      hours_from timestamptz not null,
      days_from timestamptz not null
    )`
  yield* sql`
    insert into webhook_trigger.run_counts_state (hours_from, days_from) values ('-infinity', '-infinity')`

  yield* sql`
    create function webhook_trigger.duration_class(status text, started_at timestamptz, finished_at timestamptz)
    returns integer language plpgsql immutable parallel safe as $$
      declare
        took integer;
      begin
        if status <> 'success' or started_at is null then return null; end if;
        took := least(2147483647, greatest(0, extract(epoch from finished_at - started_at) * 1000));
        -- Six binary digits.
        return case when took < 64 then took else took - took % (1 << (floor(ln(took) / ln(2))::integer - 5)) end;
      end
    $$`

  yield* sql`
    create function webhook_trigger.count_ended_run() returns trigger language plpgsql as $$
      begin
        insert into webhook_trigger.run_count_changes values (
          null, new.webhook_id, date_bin('1 hour', new.accepted_at, 'epoch'), new.status,
          webhook_trigger.duration_class(new.status, new.started_at, new.finished_at), 1
        );
        return null;
      end
    $$`
  yield* sql`
    create function webhook_trigger.count_waiting_run() returns trigger language plpgsql as $$
      begin
        insert into webhook_trigger.run_count_changes values (
          new.team, new.webhook_id, date_bin('1 hour', new.accepted_at, 'epoch'), 'queued', null,
          case tg_op when 'INSERT' then 1 else -1 end
        );
        return null;
      end
    $$`
  yield* sql`
    create function webhook_trigger.count_deleted_runs() returns trigger language plpgsql as $$
      begin
        insert into webhook_trigger.run_count_changes
        select null, d.webhook_id, date_bin('1 hour', d.accepted_at, 'epoch'), d.status,
          webhook_trigger.duration_class(d.status, d.started_at, d.finished_at), -count(*)
        from deleted d
        where d.finished_at is not null and d.accepted_at >= (select days_from from webhook_trigger.run_counts_state)
          and exists (select from webhook_trigger.webhooks w where w.id = d.webhook_id)
        group by 2, 3, 4, 5
        union all
        select d.team, d.webhook_id, date_bin('1 hour', d.accepted_at, 'epoch'), 'queued', null, -count(*)
        from deleted d where d.status = 'queued' and d.admitted_at is null
        group by 1, 2, 3;
        return null;
      end
    $$`

  yield* sql`
    create trigger runs_ended after update of finished_at on webhook_trigger.runs
    for each row when (old.finished_at is null and new.finished_at is not null and new.webhook_id is not null)
    execute function webhook_trigger.count_ended_run()`
  // For runs that are copied into the table: ours have not ended when they are inserted.
  yield* sql`
    create trigger runs_inserted after insert on webhook_trigger.runs
    for each row when (new.finished_at is not null and new.webhook_id is not null)
    execute function webhook_trigger.count_ended_run()`
  yield* sql`
    create trigger runs_waiting after insert on webhook_trigger.runs
    for each row when (new.status = 'queued' and new.admitted_at is null)
    execute function webhook_trigger.count_waiting_run()`
  yield* sql`
    create trigger runs_not_waiting after update of status, admitted_at on webhook_trigger.runs
    for each row when (
      old.status = 'queued' and old.admitted_at is null and (new.status <> 'queued' or new.admitted_at is not null)
    )
    execute function webhook_trigger.count_waiting_run()`
  yield* sql`
    create trigger runs_deleted after delete on webhook_trigger.runs referencing old table as deleted
    for each statement execute function webhook_trigger.count_deleted_runs()`
})
