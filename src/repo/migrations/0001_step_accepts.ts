/**
 * The part of the function `step` that checks and writes runs. `i`: what is checked of a run. A run is a candidate for as long as
 * its outcome is null. Outcomes are at their run's `ord` + 1.
 */
import { isOut } from "./0001_dispatch.ts"

/** The run `r` is queued and not admitted, in a lane or not. */
const isWaiting = "r.status = 'queued' and r.admitted_at is null"

/** It counts for the queue of all webhooks: it does not wait for a person or a time. */
const isQueued = "(r.held_for in ('approval', 'time')) is not true"

/** The rows of `checks`, with these columns. */
const input = (columns: string) => `json_to_recordset(checks) as i (ord integer, id uuid, ${columns})`

const isCandidate = "outcomes[i.ord + 1] is null"

/** It takes from its webhook's bucket. A replay has none of these limits. */
const takes = "(i.rate_runs is not null or i.budget_runs is not null or i.budget_usd is not null)"
const takeColumns = "webhook_id uuid, rate_runs integer, rate_seconds integer, budget_runs integer, budget_usd float8"

export const acceptingVariables = `
outcomes text[];
results json;
on_runs uuid[];
replaces boolean[];
retry_after float8[];
used_of_day float8[];
thread_ids uuid[];
ids uuid[];
waiting integer := 0;
has_slot boolean;
today date;
priced_hooks uuid[];
priced integer[];
costs float8[];`

/** Whether the key names a run: its own, or the one that it joined. */
const repeats = `
  i.idempotency_key is not null and case when i.webhook_id is null then
    (
      select true from webhook_trigger.runs r
      where r.webhook_id is null and r.team = i.team and r.idempotency_key = i.idempotency_key limit 1
    )
  else
    coalesce((
      select true from webhook_trigger.runs r
      where r.webhook_id = i.webhook_id and r.idempotency_key = i.idempotency_key limit 1
    ), (
      select true from webhook_trigger.window_deliveries d
      where d.webhook_id = i.webhook_id and d.idempotency_key = i.idempotency_key and d.expires_at > i.accepted_at limit 1
    ))
  end`

/**
 * Statements that delete a webhook, delete or pause a team, or replace a token, either wait for this commit or are seen by it.
 * A run of a \`singleton\` may depend on others with its key.
 */
const check = `
if 'singletons' = any (features) then
  on_runs := array(
    select case when i.is_exclusive then webhook_trigger.singleton_on(i.webhook_id, i.team, i.singleton_key) end
    from ${input("webhook_id uuid, team text, singleton_key text, is_exclusive boolean")} order by i.ord
  );
  replaces := array(
    select i.supersedes is not null and (
      select ${isWaiting} and (i.needs_approval is null or r.needs_approval)
      from webhook_trigger.runs r where r.id = on_runs[i.ord + 1]
    ) from ${input("supersedes text, needs_approval boolean")} order by i.ord
  );
end if;

perform from webhook_trigger.webhooks w where w.id = any (hooks) order by w.id for key share;
perform from webhook_trigger.teams t where t.team = any (lanes) order by t.team for key share;

outcomes := array(
  select case
    when t.team is null or i.webhook_id is not null and w.id is null then 'unknown'
    when w.version is distinct from i.version then 'edited'
    when ${repeats} then 'repeats'
    when i.on_new = 'skip' and on_runs[i.ord + 1] is not null then 'skipped'
  end
  from ${input(`webhook_id uuid, token_hash bytea, version integer, team text, accepted_at timestamptz, idempotency_key text,
    on_new text`)}
  left join webhook_trigger.webhooks w on w.id = any (hooks) and w.id = i.webhook_id and w.enabled and (
    w.token_hash = i.token_hash or w.old_token_hash = i.token_hash and w.old_token_valid_until > i.accepted_at
  )
  left join webhook_trigger.teams t on t.team = any (lanes) and t.team = i.team
  order by i.ord
);`

/** A retry is accepted while its failed run waits for it. So there is at most one, and none that was cancelled. */
const retry = `
if 'retries' = any (features) then
  perform from webhook_trigger.runs r
  where r.id = any (array(select i.replay_of from ${input("replay_of uuid, attempt integer")} where i.attempt > 1))
  order by r.id for no key update;
  for one in
    select i.ord from ${input("replay_of uuid, attempt integer")}
    where i.attempt > 1 and (select r.retry_at from webhook_trigger.runs r where r.id = i.replay_of) is null
  loop
    outcomes[one.ord + 1] := 'unknown';
  end loop;
end if;`

/**
 * The webhooks' own limits. A webhook's candidates reach them in their order: accepted ones come first, so the number of candidates
 * before a run is the number of those taken before it, as long as it matters. One that takes the place of a queued run makes the
 * queue no longer.
 *
 * \`is_next\`: the team has nothing to do, and there is a slot, so it does not wait, except for a leader.
 */
const limit = `
if 'limits' = any (features) then
  perform from webhook_trigger.webhook_rates b
  where b.webhook_id = any (array(select i.webhook_id from ${input(takeColumns)} where ${isCandidate} and ${takes}))
  order by b.webhook_id for update;

  today := (
    select (max(i.accepted_at) at time zone 'utc')::date from ${input("accepted_at timestamptz")}
  );
  if 'costs' = any (features) then
    select array_agg(c.webhook_id), array_agg(c.priced_runs), array_agg(c.cost_usd) into priced_hooks, priced, costs
    from webhook_trigger.costs_of_day(
      array(select i.webhook_id from ${input("webhook_id uuid, budget_usd float8")} where i.budget_usd is not null), today
    ) as c;
  end if;
  if 'queues' = any (features) then
    has_slot := (select count(*) from webhook_trigger.runs r where ${isOut} and r.webhook_id is not null) < most;
  end if;

  for one in
    with candidate as materialized (
      select i.*, coalesce(replaces[i.ord + 1], false) as replaces
      from ${input(`${takeColumns}, team text, mode text, deadline_at timestamptz, held_for text, max_queued integer,
        unknown_usd float8`)}
      where ${isCandidate}
    ), queue as materialized (
      select c.webhook_id, (
        select count(*) from (
          select from webhook_trigger.runs r where r.webhook_id = c.webhook_id and ${isWaiting} limit c.max_queued
        ) as q
      ) as length
      from (
        select webhook_id, max(max_queued) as max_queued from candidate where max_queued is not null group by webhook_id
      ) as c
    ), idle as materialized (
      select t.team from webhook_trigger.teams t
      where has_slot and t.team = any (array(select c.team from candidate c where c.max_queued is not null))
        and t.paused_at is null and t.resting_until is null and (
          select true from webhook_trigger.runs r where r.team = t.team and ${isWaiting} and r.place is not null limit 1
        ) is null and (select true from webhook_trigger.runs r where r.team = t.team and ${isOut} limit 1) is null
    ), filled as (
      select c.*, coalesce(q.length, 0) as own_length,
        count(*) filter (where ${takes.replaceAll("i.", "c.")}) over same as place,
        count(*) filter (where not c.replaces) over same - 1 - (
          t.team is not null and c.held_for is null
          and (c.mode = 'wait' or c.deadline_at is null or c.team = any (led))
        )::integer as waits_before,
        least(c.rate_runs, greatest(0, coalesce(b.used, 0)
          - greatest(0, extract(epoch from now() - b.at)::float8) * c.rate_runs / c.rate_seconds)) as used,
        case when b.day >= today then b.day_runs else 0 end as day_runs,
        coalesce(p.priced_runs, 0) as priced_runs, coalesce(p.cost_usd, 0) as cost_usd
      from candidate c
      left join queue q on q.webhook_id = c.webhook_id
      left join idle t on t.team = c.team
      left join webhook_trigger.webhook_rates b on b.webhook_id = any (hooks) and b.webhook_id = c.webhook_id
      left join unnest(priced_hooks, priced, costs) as p (webhook_id, priced_runs, cost_usd)
        on p.webhook_id = c.webhook_id
      window same as (partition by c.webhook_id order by c.ord)
    ), limited as (
      select f.ord, case
          when not f.replaces and f.own_length + f.waits_before >= f.max_queued then 'webhook full'
          when f.day_runs + f.place > f.budget_runs then 'budget of runs'
          when f.cost_usd + greatest(0, f.day_runs + f.place - 1 - f.priced_runs) * f.unknown_usd >= f.budget_usd
            then 'budget of cost'
          when f.place > floor(f.rate_runs - f.used) then 'rate'
        end as refusal,
        case when f.day_runs + f.place > f.budget_runs then f.day_runs
          else f.cost_usd + greatest(0, f.day_runs - f.priced_runs) * f.unknown_usd end as used_of_day,
        (1 - (f.rate_runs - f.used) + floor(f.rate_runs - f.used)) * f.rate_seconds / f.rate_runs * 1000 as retry_after
      from filled f
    )
    select l.* from limited l where l.refusal is not null
  loop
    outcomes[one.ord + 1] := one.refusal;
    used_of_day[one.ord + 1] := one.used_of_day;
    retry_after[one.ord + 1] := one.retry_after;
  end loop;
end if;`

/** The queue of all webhooks. What takes the place of a queued run makes it no longer. */
const fit = `
if counts_queue then
  waiting := (
    select count(*) from (
      select from webhook_trigger.runs r where (${isWaiting}) and ${isQueued} order by r.team limit most_queued
    ) as queue
  );
end if;
if waiting + cardinality(outcomes) > most_queued then
  for n in 1 .. cardinality(outcomes) loop
    if outcomes[n] is null then
      if replaces[n] is not true then
        waiting := waiting + 1;
      end if;
      if most_queued = 0 or replaces[n] is not true and waiting > most_queued then
        outcomes[n] := 'full';
      end if;
    end if;
  end loop;
end if;`

/** The windows that the accepted runs open, unless another run has opened one in the meantime. */
const windows = `
if 'windows' = any (features) then
  for one in
    with wanted as materialized (
      select i.* from ${input(`webhook_id uuid, team text, window_key text, held_until timestamptz, window_latest timestamptz,
        window_template text, window_request text`)}
      where i.window_key is not null and ${isCandidate}
    ), opened as (
      insert into webhook_trigger.windows (webhook_id, team, key, run_id, until, latest, template)
      select w.webhook_id, w.team, w.window_key, w.id, w.held_until, w.window_latest, w.window_template::json from wanted w
      order by w.webhook_id, w.team, w.window_key
      on conflict do nothing returning run_id
    ), kept as (
      insert into webhook_trigger.window_requests (run_id, request, bytes)
      select w.id, w.window_request::json, octet_length(w.window_request) from wanted w
      where w.window_request is not null and w.id in (select o.run_id from opened o)
    )
    select w.ord from wanted w where w.id not in (select o.run_id from opened o)
  loop
    outcomes[one.ord + 1] := 'repeats';
  end loop;
end if;`

/**
 * The threads of the accepted runs. A new thread has the ID of its first run. The conflict with an open thread locks its row: a
 * thread that is being ended is either joined before, or replaced by a new one.
 */
const threads = `
if 'threads' = any (features) then
  with wanted as materialized (
    select i.* from ${input("team text, thread_key text, accepted_at timestamptz")}
  ), thread as (
    insert into webhook_trigger.threads as t (id, team, key, created_at, last_run_at)
    select distinct on (i.team, i.thread_key) i.id, i.team, i.thread_key, i.accepted_at, i.accepted_at from wanted i
    where i.thread_key is not null and ${isCandidate} order by i.team, i.thread_key, i.ord
    on conflict (team, key) where ended_at is null
      do update set last_run_at = greatest(t.last_run_at, excluded.last_run_at)
    returning t.id, t.team, t.key
  )
  select array_agg(t.id order by i.ord) into thread_ids
  from wanted i left join thread t on t.team = i.team and t.key = i.thread_key;
end if;`

/** A held run has no place in its lane. */
const columns = {
  id: "uuid",
  source: "text",
  webhook_id: "uuid",
  webhook_version: "integer",
  team: "text",
  mode: "text",
  title: "text",
  prompt: "text",
  layout: "json",
  agent: "json",
  variables: "json",
  files: "json",
  timeout_ms: "bigint",
  max_work_ms: "integer",
  thread_key: "text",
  singleton_key: "text",
  supersedes: "text",
  replay_of: "uuid",
  chained_from: "uuid",
  chain_depth: "integer",
  attempt: "integer",
  max_attempts: "integer",
  retry_after_seconds: "integer",
  deadline_at: "timestamptz",
  accepted_at: "timestamptz",
  traceparent: "text",
  triggered_by: "text",
  asked_by: "text",
  callback_url: "text",
  idempotency_key: "text",
  idempotency_expires_at: "timestamptz",
  request_hash: "bytea",
  held_for: "text",
  held_until: "timestamptz",
  needs_approval: "boolean"
}
const names = Object.keys(columns)
/** PostgreSQL would refuse an escaped U+0000 in JSON within JSON, so it arrives as text. */
const types = Object.entries(columns).map(([name, type]) => `${name} ${type === "json" ? "text" : type}`)
const values = Object.entries(columns).map(([name, type]) => (type === "json" ? `r.${name}::json` : `r.${name}`))

/** If several runs are inserted at once with one key, also by other servers, only one is stored. */
const insert = `
with inserted as (
  insert into webhook_trigger.runs (${names.join(", ")}, place, joined, thread_id)
  select ${values.join(", ")},
    case when r.held_for is null then nextval('webhook_trigger.runs_seq_seq') end,
    case when r.held_for is not null then 0 end,
    thread_ids[r.ord + 1]
  from json_to_recordset(new_rows) as r (ord integer, ${types.join(", ")})
  where outcomes[r.ord + 1] is null order by r.ord
  on conflict do nothing
  returning id, team
)
select coalesce(array_agg(n.id), '{}'), touched || array_agg(n.team) into ids, touched from inserted n;

if cardinality(ids) < cardinality(outcomes) then
  outcomes := array(
    select coalesce(outcomes[i.ord + 1], case when i.id = any (ids) then 'accepted' else 'repeats' end)
    from json_to_recordset(checks) as i (ord integer, id uuid) order by i.ord
  );
  results := (
    select json_agg(json_build_object(
      'outcome', outcomes[o.n], 'retry_after_ms', retry_after[o.n], 'used_of_day', used_of_day[o.n],
      'skipped_for', case when outcomes[o.n] = 'skipped' then on_runs[o.n] end
    ) order by o.n)
    from generate_subscripts(outcomes, 1) as o (n)
  );
end if;`

/** The consequences of the rows: files, buckets, and the runs that these replace. */
const follow = `
if sent_files is not null then
  -- A replay shares the contents of its run's files.
  insert into webhook_trigger.run_files (run_id, id, content)
  select f.run_id, f.id, f.content from json_to_recordset(sent_files) as f (run_id uuid, id text, content text)
  where f.run_id = any (ids)
  union all
  select i.id, f.id, f.content from ${input("replay_of uuid")}
  join webhook_trigger.run_files f on f.run_id = i.replay_of and f.id like 'in-%'
    and f.run_id = any (array(select i.replay_of from ${input("replay_of uuid")}))
  where i.id = any (ids);
end if;

if 'limits' = any (features) then
  update webhook_trigger.webhook_rates b set
    used = case
      when t.rate_runs is null then b.used
      else least(t.rate_runs, greatest(0, b.used
        - greatest(0, extract(epoch from now() - b.at)::float8) * t.rate_runs / t.rate_seconds)) + t.runs
    end,
    at = case when t.rate_runs is null then b.at else greatest(b.at, now()) end,
    day = greatest(b.day, today),
    day_runs = case when b.day >= today then b.day_runs else 0 end + t.runs
  from (
    select i.webhook_id, max(i.rate_runs) as rate_runs, max(i.rate_seconds) as rate_seconds, count(*) as runs
    from ${input(takeColumns)} where i.id = any (ids) and ${takes} group by i.webhook_id
  ) as t
  where b.webhook_id = any (hooks) and b.webhook_id = t.webhook_id;
end if;

if 'retries' = any (features) then
  for one in
    update webhook_trigger.runs r set retry_at = null, retried_by = i.id
    from ${input("replay_of uuid, attempt integer")}
    where i.attempt > 1 and i.id = any (ids) and r.id = i.replay_of
      and r.id = any (array(select i.replay_of from ${input("replay_of uuid")}))
    returning r.id
  loop
    all_changed := all_changed || one.id;
  end loop;
end if;

if 'singletons' = any (features) then
  -- Of several new runs with one key, the last one remains, or the last one and one that waits for its approval.
  for one in
    select s as run from (
      select array_agg(n.webhook_id) as hooks, array_agg(n.team) as lanes, array_agg(n.singleton_key) as keys,
        array_agg(n.id) as newer
      from (
        select distinct on (i.webhook_id, i.team, i.singleton_key, i.needs_approval)
          i.webhook_id, i.team, i.singleton_key, i.id
        from ${input("webhook_id uuid, team text, singleton_key text, supersedes text, needs_approval boolean")}
        where i.supersedes is not null and i.id = any (ids)
        order by i.webhook_id, i.team, i.singleton_key, i.needs_approval, i.ord desc
      ) as n
    ) as k, lateral webhook_trigger.cancel_singletons(
      k.hooks, k.lanes, k.keys, k.newer, 'superseded', clock, 'infinity'
    ) as s
    where k.hooks is not null
  loop
    kind := 'superseded';
    run := one.run;
    return next;
  end loop;
end if;`

export const accepting = `
if checks is not null then
  ${[check, retry, limit, fit, windows, threads, insert, follow].join("\n")}
end if;`
