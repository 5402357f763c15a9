import { Effect } from "effect"
import { SqlClient, Statement } from "effect/sql"

/** The run `r` is out: it may be with its team's leader. As `isOut` in `RunColumns.ts`, which can change later. */
export const isOut =
  "(r.status in ('queued', 'running') and r.admitted_at is not null or r.stop_at is not null and r.released_at is null)"

/** The run `r` waits in its lane. */
const isWaiting = "r.status = 'queued' and r.admitted_at is null and r.place is not null"

/** The next run of a team, if the team may get one and the run's webhook too. Nobody waits for one after its deadline. */
const headOf = (team: string) => `
  select h.*, coalesce((own ->> h.webhook_id::text)::integer, w.max_concurrent, most) as own_limit
  from webhook_trigger.teams t cross join lateral (
    select r.id, r.team, r.webhook_id, r.mode = 'async' and r.deadline_at is not null and r.team <> all (led) as needs_leader
    from webhook_trigger.runs r
    where r.team = t.team and ${isWaiting} and (r.mode = 'wait' and r.deadline_at <= clock) is not true
    order by r.place limit 1
  ) h left join webhook_trigger.webhooks w on w.id = h.webhook_id
  where t.team = ${team} and t.paused_at is null and t.resting_until is null
    and not exists (select from webhook_trigger.runs r where r.team = t.team and ${isOut})
    and (h.webhook_id is null or w.moved_at is null and own = '{}' or (
      select count(*) from webhook_trigger.runs r where ${isOut} and r.webhook_id = h.webhook_id
    ) < coalesce((own ->> h.webhook_id::text)::integer, w.max_concurrent, most))`

/**
 * The admission of runs. Who admits runs holds `lock_admission` until the commit, so limits are exact over all servers. It
 * is an advisory lock, because locking a row writes it; the numbers are arbitrary. `ticks`: when a server last did the work of
 * each second.
 *
 * `lanes`: the teams that have waited for a slot. `waits`: they do now, and had their last `turn` then. It is a hint, which
 * the work of each second corrects. Rows are updated and not deleted, so that the table stays small.
 */
export const dispatch = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create function webhook_trigger.lock_admission() returns void language sql
    as 'select pg_advisory_xact_lock(7825515, 2)'`
  yield* sql`
    create table webhook_trigger.ticks (
      one boolean primary key default true check (one),
      ticked_at timestamptz not null default '-infinity'
    )`
  yield* sql`insert into webhook_trigger.ticks default values`
  yield* sql`
    create table webhook_trigger.lanes (
      team text collate "C" primary key,
      waits boolean not null,
      turn timestamptz
    ) with (fillfactor = 50)`

  // Admits the next run of each team that was touched, and of those that wait for a slot, as many as the limits leave: at
  // most `most`, or more for a webhook with a higher limit of its own. A chat message needs no slot. `thread_report`: of
  // the last run of its thread that named a session, also if it ends with this statement.
  //
  // Some runs are sent only to a leader. `led`: teams with a leader; `leaderless`: teams without one, null: all others. The
  // next run of a leaderless team takes no part. If neither list has its team, it takes part, but nobody gets its slot: it is
  // returned without a change, and keeps its turn until the caller knows whether there is a leader.
  //
  // Its lock comes first, and each query sees what was committed before that. It takes no other lock that it would wait for:
  // a run that another statement is ending belongs to the admission of that one.
  yield* sql`
    create function webhook_trigger.admit(
      touched text[], led text[], leaderless text[], clock timestamptz, most integer, own jsonb
    )
    returns table (run webhook_trigger.runs, thread_report json) language plpgsql
    set plan_cache_mode = force_generic_plan
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
    as ${Statement.fragment([
      Statement.literal(`$$
      declare
        taken integer;
        highest integer;
        head record;
        lane text;
        in_doubt boolean := false;
        ids uuid[] := '{}';
        candidates uuid[] := '{}';
        teams text[] := '{}';
        served text[] := '{}';
      begin
        perform webhook_trigger.lock_admission();

        select count(*) into taken from webhook_trigger.runs r where ${isOut} and r.webhook_id is not null;
        for head in
          select h.* from (select distinct unnest(touched) as team) c cross join lateral (${headOf("c.team")}) h
        loop
          if head.needs_leader and (leaderless is null or head.team = any (leaderless)) then
            served := served || head.team;
          elsif head.webhook_id is null then
            ids := ids || head.id;
          else
            candidates := candidates || head.id;
            teams := teams || head.team;
            in_doubt := in_doubt or head.needs_leader;
          end if;
        end loop;

        if taken + cardinality(candidates) <= most and not in_doubt
          and not exists (select from webhook_trigger.lanes l where l.waits)
        then
          ids := ids || candidates;
        else
          insert into webhook_trigger.lanes as l (team, waits, turn)
            select c.team, true, (
              select r.admitted_at from webhook_trigger.runs r
              where r.team = c.team and r.finished_at is not null and r.admitted_at is not null
              order by r.finished_at desc limit 1
            ) from unnest(teams) as c(team)
            on conflict (team) do update set waits = true, turn = excluded.turn where not l.waits;
          select greatest(most, max(limits.own_limit)) into highest from (
            select w.max_concurrent as own_limit from webhook_trigger.webhooks w where w.max_concurrent is not null
            union all select value::integer from jsonb_each_text(own)
          ) as limits;
          for lane in select l.team from webhook_trigger.lanes l where l.waits order by l.turn nulls first, l.team loop
            exit when taken >= highest;
            select h.* into head from (${headOf("lane")}) as h;
            if head.id is null or head.webhook_id is null
              or head.needs_leader and (leaderless is null or head.team = any (leaderless))
            then
              served := served || lane;
            elsif taken < greatest(most, head.own_limit) then
              taken := taken + 1;
              if head.needs_leader then
                return query select r, null::json from webhook_trigger.runs r where r.id = head.id;
              else
                ids := ids || head.id;
                served := served || lane;
              end if;
            end if;
          end loop;
        end if;
        if cardinality(served) > 0 then
          update webhook_trigger.lanes l set waits = false where l.team = any (served) and l.waits;
        end if;

        return query
          with free as materialized (
            select r.id from webhook_trigger.runs r
            where r.id = any (ids) and r.admitted_at is null and r.finished_at is null
            for no key update skip locked
          )
          update webhook_trigger.runs r set
            admitted_at = clock,
            deadline_at = case
              when r.mode = 'wait' then coalesce(r.deadline_at, clock + r.timeout_ms * interval '1 millisecond')
              else clock + r.timeout_ms * interval '1 millisecond'
            end
          from free where r.id = free.id
          returning r, (
            select e.report from webhook_trigger.runs e
            where e.thread_id = r.thread_id and e.finished_at is not null and e.report ->> 'session_id' is not null
            order by e.place desc limit 1
          );
      end
    $$`)
    ])}`
})
