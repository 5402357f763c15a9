import { Effect } from "effect"
import { SqlClient, Statement } from "effect/sql"

/** The run `r` is not over: it is queued, in progress, or waits for a retry. The index `runs_singleton` has it. */
const isOn = Statement.fragment([Statement.literal("(r.finished_at is null or r.retry_at is not null)")])

/** The run `r` has timed out, and its agent still works. The index has it as well. */
const stillWorks = Statement.fragment([
  Statement.literal(
    "(r.stop_at is not null and r.released_at is null and r.stop_at > clock and r.cancelled_by is null)"
  )
])

/**
 * Keys of `singleton`. The table is one row: who accepts a run that depends on others with its key, or cancels those, holds
 * its lock until the commit. So of two servers, the second sees what the first has accepted. Each function takes the lock
 * before its query begins, which would otherwise see only what was committed before the calling statement.
 */
export const singletons = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table webhook_trigger.singletons (
      one boolean primary key default true check (one)
    )`
  yield* sql`insert into webhook_trigger.singletons default values`

  // The newest run with this key that is not over.
  yield* sql`
    create function webhook_trigger.singleton_on(hook uuid, lane text, key text) returns uuid language plpgsql
    set enable_seqscan = off as $$
      begin
        perform from webhook_trigger.singletons for no key update;
        return (
          select r.id from webhook_trigger.runs r
          where r.webhook_id = hook and r.team = lane and r.singleton_key = key and ${isOn}
          order by r.seq desc limit 1
        );
      end
    $$`

  // Cancels the runs with these keys: those that a newer one replaces, or those that were accepted until an event. A retry is of
  // an older request, and counts by the attempt before it. A newer run that waits for its approval replaces only those that do,
  // too. One that supersedes when it starts leaves the run in progress. It locks that one nevertheless: if that fails meanwhile, it
  // waits for a retry, and is replaced. Of one that has timed out, only the agent is stopped. Runs are locked in the order of
  // their IDs, as everywhere. This may have taken time, so a run may have started after `clock`. It ends no earlier.
  yield* sql`
    create function webhook_trigger.cancel_singletons(
      hooks uuid[], lanes text[], keys text[], newer uuid[], canceller text, clock timestamptz, latest timestamptz
    ) returns setof webhook_trigger.runs language plpgsql
    set enable_seqscan = off as $$
      begin
        perform from webhook_trigger.singletons for no key update;
        return query
          with unwanted as materialized (
            select r.id, k.newer, n.supersedes is distinct from 'started' or r.admitted_at is null or r.retry_at is not null as ends
            from unnest(hooks, lanes, keys, newer) as k (hook, lane, key, newer)
            join webhook_trigger.runs r on r.webhook_id = k.hook and r.team = k.lane and r.singleton_key = k.key
            left join webhook_trigger.runs n on n.id = k.newer
            where (${isOn} or ${stillWorks}) and case
              when k.newer is not null then
                r.id <> n.id and (r.attempt > 1 or r.seq < n.seq) and (n.needs_approval is null or r.needs_approval)
              else coalesce(
                (select f.accepted_at from webhook_trigger.runs f where r.attempt > 1 and f.id = r.replay_of), r.accepted_at
              ) <= latest
            end
            order by r.id for no key update of r
          )
          update webhook_trigger.runs r set
            status = case when r.finished_at is null then 'cancelled' else r.status end,
            finished_at = coalesce(r.finished_at, greatest(clock, r.accepted_at, r.sent_at, r.started_at)),
            recorded_at = coalesce(r.recorded_at, now()),
            started_at = coalesce(r.started_at, r.sent_at),
            released_at = case when r.finished_at is null and r.admitted_at is null then clock else r.released_at end,
            stop_at = case
              when r.finished_at is null and r.admitted_at is not null or ${stillWorks} then clock
              else r.stop_at
            end,
            held_for = null, held_until = null, needs_approval = null, retry_at = null,
            cancelled_by = canceller, superseded_by = unwanted.newer
          from unwanted where r.id = unwanted.id and unwanted.ends
          returning r.*;
      end
    $$`
})
