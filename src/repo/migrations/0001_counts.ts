import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Ends of runs are counted by hour and day of their acceptance, so that no page counts runs. Ending a run writes none of
 * this: `HistoryStore.rollUp` reads the ends that the database has stored since the last time (`runs.recorded_at`), and
 * readers add those that it has not counted yet.
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

  // `amount` is a field of `AgentUsage`, or `reported` for all runs with usage. `runs` of them reported it. `numeric`, so
  // that a sum does not depend on its order.
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
  // One row. Ends that were stored before `counted_to` are counted. Older hours and days than these have been deleted.
  yield* sql`
    create table webhook_trigger.run_counts_state (
      one boolean primary key default true check (one),
      counted_to timestamptz not null,
      hours_from timestamptz not null,
      days_from timestamptz not null
    )`
  yield* sql`
    insert into webhook_trigger.run_counts_state (counted_to, hours_from, days_from)
    values ('-infinity', '-infinity', '-infinity')`

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
    create function webhook_trigger.usage_amounts(report json) returns table (amount text, total numeric)
    language sql immutable parallel safe as $$
      select 'reported', 0::numeric where report -> 'usage' is not null
      union all
      select key, value::numeric from json_each_text(report -> 'usage')
      where key in ('cost_usd', 'input_tokens', 'cached_input_tokens', 'output_tokens')
    $$`

  // By webhook, what the runs accepted on a day, in UTC, cost, and how many of them reported it: the costs kept by day, and
  // the ends that are not among them yet. Nothing is late.
  yield* sql`
    create function webhook_trigger.costs_of_day(hooks uuid[], day date)
    returns table (webhook_id uuid, priced_runs integer, cost_usd float8) language sql stable as $$
      select webhook_id, sum(runs)::integer, sum(total)::float8
      from (
        select webhook_id, runs, total from webhook_trigger.run_usage
        where webhook_id = any (hooks) and hours = 24 and begins_at = day::timestamp at time zone 'utc'
          and amount = 'cost_usd'
        union all
        select webhook_id, 1, (report -> 'usage' ->> 'cost_usd')::numeric
        from (
          select webhook_id, date_bin('1 hour', accepted_at, 'epoch') as accepted_hour, report from webhook_trigger.runs
          where webhook_id is not null
            and recorded_at >= (select counted_to from webhook_trigger.run_counts_state)
          order by recorded_at offset 0
        ) as uncounted
        where webhook_id = any (hooks) and accepted_hour >= day::timestamp at time zone 'utc'
          and accepted_hour < day::timestamp at time zone 'utc' + interval '24 hours'
          and report -> 'usage' ->> 'cost_usd' is not null
      ) as each
      group by 1
    $$`
})
