import { Effect } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { accepting, acceptingVariables } from "./0001_step_accepts.ts"
import { ending } from "./0001_step_ends.ts"

/** A prompt contains at most so many earlier runs of its thread, and characters of them. They are read under the lock of a step. */
const historyRuns = 10
const historySize = 64 * 1024
/** The maximum characters of each of their texts. */
const historyText = 16 * 1024

/** PostgreSQL reads no more of a long text than its beginning, whose length in bytes it knows. */
const shortened = (text: string): string => {
  const beginning = `left(${text}, ${historyText})`
  return `case when octet_length(${text}) > octet_length(${beginning}) then ${beginning} || '…' else ${text} end`
}

/**
 * The step: ends, acceptances and admissions in one commit (`RunStore.step`). Its text is the same for every request, and what a
 * request asks for is data, so each connection keeps one plan of each statement. A statement that only some runs need is planned
 * when the first of them comes, and costs the others nothing.
 *
 * Each of its statements sees what was committed before it began. So what follows a lock sees what its last holder did. Locks are
 * taken in this order: `singletons`, webhooks, teams, buckets, runs by their IDs, `lock_admission`.
 */
export const step = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // The latest prompts and answers of a thread before a place in the lane.
  yield* sql`
    create function webhook_trigger.thread_history(thread uuid, before bigint) returns json language sql stable
    as ${Statement.fragment([
      Statement.literal(`$$
      select json_agg(json_build_object('prompt', h.prompt, 'response', h.response) order by h.place)
      from (
        select e.*, sum(length(e.prompt) + length(e.response)) over (order by e.place desc) as size
        from (
          select e.place, ${shortened("e.prompt")} as prompt, ${shortened("e.response")} as response
          from webhook_trigger.runs e
          where e.thread_id = thread and e.place < before and e.response is not null
          order by e.place desc limit ${historyRuns}
        ) as e
      ) as h
      where h.size <= ${historySize}
    $$`)
    ])}`

  // `checks`, `new_rows`: what is checked of the new runs, and what is stored, each in the order of their `ord`, from 0 on.
  // `hooks`, `lanes`: their webhooks and teams. `features`: what any of them needs beyond the plain way. `ending`: the runs of
  // `ends` and `releases`. `touched`: further teams that may get a run. What is null is not there. `led`, `leaderless`: as for `admit`.
  //
  // Rows: `ended`, `superseded`, `admitted`, and `needs leader`, each with its run. One of the kind `answers` has the results of
  // the new runs in their order, unless all are accepted, and the IDs of runs that have changed otherwise.
  //
  // Rows are found by an array of their keys, or by a query for a single value. PostgreSQL expects a hundred
  // rows of JSON. To join them, it would rather read a whole table that was small when it planned.
  yield* sql`
    create function webhook_trigger.step(
      checks json, new_rows json, sent_files json, hooks uuid[], lanes text[], features text[],
      ends json, releases json, ending uuid[],
      touched text[], led text[], leaderless text[], clock timestamptz, most integer, own jsonb, most_queued integer, counts_queue boolean
    ) returns table (
      kind text, run webhook_trigger.runs, webhook json, thread_report json, thread_history json, answers text, changed text
    ) language plpgsql
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_mergejoin = off set jit = off
    as ${Statement.fragment([
      Statement.literal(`$$
      #variable_conflict use_column
      declare
        one record;
        all_changed uuid[] := '{}';
        ${acceptingVariables}
      begin
        ${accepting}
        ${ending}

        if results is not null or all_changed <> '{}' then
          kind := 'answers';
          run := null;
          answers := results;
          changed := array_to_string(all_changed, ' ');
          return next;
        end if;

        return query
          select case when (a.run).admitted_at is null then 'needs leader' else 'admitted' end, a.run,
            case when w.id is not null then
              json_strip_nulls(json_build_object(
                'id', w.id, 'name', w.name,
                'max_cost_per_day', case when (a.run).replay_of is null or (a.run).attempt > 1 then w.max_cost_per_day end
              ))
            end,
            a.thread_report,
            case when (a.run).thread_id is not null and (w.thread_history or a.thread_report -> 'session_id' is null) then
              webhook_trigger.thread_history((a.run).thread_id, (a.run).place)
            end,
            null, null
          from webhook_trigger.admit(touched, led, leaderless, clock, most, own) as a
          left join lateral (
            select h.id, h.name, h.max_cost_per_day, h.thread_history from webhook_trigger.webhooks h
            where h.id = (a.run).webhook_id offset 0
          ) as w on true;
      end
    $$`)
    ])}`
})
