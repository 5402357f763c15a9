import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Ends of runs are counted by hour and by day, and so are waiting runs, so that no page counts runs. A transaction that
 * accepts, admits, ends or deletes runs adds to `run_count_changes`. It only inserts there, so nothing waits for
 * anything else. `HistoryStore.rollUp` moves the changes into the tables of counts.
 *
 * A run that is admitted with its acceptance costs one such row, when it ends: 5 microseconds. One whose agent reported
 * its usage adds to `run_usage_changes`, too.
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

  // `amount` is a field of `AgentUsage`, or `reported` for all runs with usage. `runs` of them reported it, so that the
  // sum is unknown again when they have been deleted. `numeric`, because deleting must subtract exactly.
  yield* sql`
    create table webhook_trigger.run_usage (
      webhook_id uuid not null references webhook_trigger.webhooks on delete cascade,
      hours smallint not null check (hours in (1, 24)),
      begins_at timestamptz(3) not null,
      amount text not null,
      runs integer not null,
      total numeric not null,
      primary key (webhook_id, hours, begins_at, amount)
    )`
  yield* sql`create index run_usage_age on webhook_trigger.run_usage (hours, begins_at)`
  yield* sql`
    create table webhook_trigger.run_usage_changes (
      webhook_id uuid not null,
      accepted_hour timestamptz(3) not null,
      amount text not null,
      runs integer not null,
      total numeric not null
    )`
  for (const table of ["run_count_changes", "run_usage_changes"]) {
    yield* sql.unsafe(`
      alter table webhook_trigger.${table} set (
        autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_analyze_threshold = 1000000000
      )`)
  }

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
    create function webhook_trigger.usage_amounts(report json) returns table (amount text, total numeric)
    language sql immutable parallel safe as $$
      select 'reported', 0::numeric where report -> 'usage' is not null
      union all
      select key, value::numeric from json_each_text(report -> 'usage')
      where key in ('cost_usd', 'input_tokens', 'cached_input_tokens', 'output_tokens')
    $$`
  yield* sql`
    create function webhook_trigger.count_usage() returns trigger language plpgsql as $$
      begin
        insert into webhook_trigger.run_usage_changes
        select new.webhook_id, date_bin('1 hour', new.accepted_at, 'epoch'), amount, 1, total
        from webhook_trigger.usage_amounts(new.report);
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
        insert into webhook_trigger.run_usage_changes
        select d.webhook_id, date_bin('1 hour', d.accepted_at, 'epoch'), a.amount, -count(*), -sum(a.total)
        from deleted d, webhook_trigger.usage_amounts(d.report) a
        where d.report is not null and d.finished_at is not null
          and d.accepted_at >= (select days_from from webhook_trigger.run_counts_state)
          and exists (select from webhook_trigger.webhooks w where w.id = d.webhook_id)
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
  // A report comes with the end, or after it.
  yield* sql`
    create trigger runs_reported after update of finished_at, report on webhook_trigger.runs
    for each row when (
      new.finished_at is not null and (new.report -> 'usage') is not null and new.webhook_id is not null
        and (old.finished_at is null or old.report is null)
    )
    execute function webhook_trigger.count_usage()`
  yield* sql`
    create trigger runs_reported_inserted after insert on webhook_trigger.runs
    for each row when (new.finished_at is not null and (new.report -> 'usage') is not null and new.webhook_id is not null)
    execute function webhook_trigger.count_usage()`
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
