/** The part of the function `step` that ends and releases runs. `i`: an end. `r`: its run. */

const mayAsk = "r.agent ->> 'may_ask' is distinct from 'false'"
const isQuestion = `(i.unasked is not null and ${mayAsk})`

// When an ending run was sent and started. An answer can arrive before the broker's confirmation: then it was sent between its
// admission and the answer, and the admission is the closest time that is known. A run whose leader has reported no start gets one
// time for both.
const noLater = (time: string) => `case when ${time} > i.at then i.at else ${time} end`
const reported = noLater("coalesce(r.started_at, i.started_at)")
const confirmed = "coalesce(r.sent_at, i.sent_at)"
const known = `case
  when ${confirmed} <= i.at then ${confirmed}
  when ${confirmed} is not null or i.answered then ${noLater("r.admitted_at")}
end`
const sent = `case when ${reported} <= ${known} then ${reported} - interval '1 millisecond' else ${known} end`
const started = `coalesce(${reported}, ${sent})`

/** The last step that the agent of a run reported, for a timeout. */
const lastStep =
  "(select t.steps -> -1 ->> 'title' from webhook_trigger.run_steps t where t.run_id = r.id order by t.position desc limit 1)"

/** The newer run that waited for the end of `run`, and replaces its retry. If it comes later, `cancel_singletons` ends that. */
const superseder = `
  select n.id from webhook_trigger.runs n
  where n.webhook_id = run.webhook_id and n.team = run.team and n.singleton_key = run.singleton_key
    and n.supersedes is not null and n.finished_at is null and n.needs_approval is null
    and (run.attempt > 1 or n.seq > run.seq)
  limit 1`

/**
 * The runs are locked first, in the order of their IDs. Their status is compared with `true`, so that PostgreSQL finds them by
 * their IDs: an index of a status is full of runs that have had it.
 */
export const ending = `
if ending is not null then
  perform from webhook_trigger.runs r where r.id = any (ending) order by r.id for no key update;
end if;

if ends is not null then
  for one in
    update webhook_trigger.runs r set
      status = i.status,
      response = i.response,
      error_code = i.error_code,
      error_message = case when i.status = 'timeout' then ${lastStep} else i.error_message end,
      report = case when ${mayAsk} then i.report else coalesce(i.unasked, i.report) end::json,
      cancelled_by = i.cancelled_by,
      sent_at = ${sent},
      started_at = ${started},
      finished_at = i.at,
      recorded_at = now(),
      retry_at = case when i.may_be_retried then i.at + r.retry_after_seconds * interval '1 second' end,
      released_at = case when i.status in ('timeout', 'cancelled') and (r.admitted_at is null or i.ends_work) then i.at end,
      stop_at = case
        when i.ends_work or r.admitted_at is null then null
        when i.status = 'timeout' then greatest(i.at, ${started} + r.max_work_ms * interval '1 millisecond')
        else i.at
      end,
      held_for = null,
      held_until = null,
      needs_approval = null
    from json_to_recordset(ends) as i (
      run_id uuid, at timestamptz, sent_at timestamptz, started_at timestamptz, answered boolean, ends_work boolean,
      unchecked boolean, may_be_retried boolean, unasked text, status text, response text, error_code text,
      error_message text, report text, cancelled_by text
    )
    where r.id = any (ending) and r.id = i.run_id and (r.status in ('queued', 'running')) is true
      and not (i.unchecked and r.agent -> 'answer_schema' is not null and not ${isQuestion})
    returning r as run, r.team
  loop
    touched := touched || one.team;
    kind := 'ended';
    run := one.run;
    if run.retry_at is not null and run.singleton_key is not null then
      update webhook_trigger.runs r set retry_at = null, cancelled_by = 'superseded', superseded_by = n.id
      from (${superseder}) as n where r.id = run.id
      returning r.* into one;
      if found then
        run := one;
      end if;
    end if;
    return next;
  end loop;
end if;

if releases is not null then
  for one in
    update webhook_trigger.runs r set released_at = coalesce(r.released_at, i.at), unconfirmed = null
    from json_to_recordset(releases) as i (run_id uuid, at timestamptz)
    where r.id = any (ending) and r.id = i.run_id and (r.stop_at is not null and r.released_at is null or r.unconfirmed) is true
    returning r.id, r.team
  loop
    touched := touched || one.team;
    all_changed := all_changed || one.id;
  end loop;
end if;`
