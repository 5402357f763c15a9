import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { RunId } from "../../domain/Id.ts"
import type { Progress } from "../../domain/run/Progress.ts"
import { keptSteps, readStep, type Step, type StepReport, toSteps } from "../../domain/run/Step.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { type ColumnTypes, fromRow, recordset, runIds, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { live, unreleased } from "../RunColumns.ts"

/** The reports of a run's leader since the last time, merged. */
export interface ProgressReport extends Progress {
  readonly run_id: RunId
  /** The numbers of the first and the last merged report. */
  readonly first_seq: number
  readonly seq: number
}

/** How far the progress of a run was read: 0 is the beginning. */
export interface ProgressMark {
  readonly run_id: RunId
  readonly position: number
}

export interface ProgressText {
  /** At its end. */
  readonly position: number
  readonly text: string
}

interface ProgressSteps {
  readonly position: number
  readonly steps: ReadonlyArray<StepReport>
}

/** The news after a mark. */
export interface ProgressNews {
  readonly position: number
  /** The text up to here is gone: it is no longer kept, or the work started over. */
  readonly kept_after: number
  readonly texts: ReadonlyArray<ProgressText>
  readonly activity?: ProgressText
  /** Also from before `kept_after`. */
  readonly steps: ReadonlyArray<ProgressSteps>
}

export interface RunNews {
  readonly run_id: RunId
  readonly started_at?: DateTime.Utc
  /** Absent if nothing was reported after the mark. */
  readonly progress?: ProgressNews
}

/** The newest text that is kept of a run, in characters. A report counts as at least `shortestReport` of them. */
export const keptText = 256 * 1024
export const shortestReport = 64

const reportTypes: ColumnTypes = {
  run_id: "uuid",
  first_seq: "bigint",
  seq: "bigint",
  text: "text",
  activity: "text",
  steps: "json"
}
const markTypes: ColumnTypes = { run_id: "uuid", position: "bigint" }

/** Reports that one statement removes, so that none takes long. */
const removedInOneStep = 1_000

const decoded = (steps: ReadonlyArray<unknown>): ReadonlyArray<StepReport> =>
  steps.flatMap((step) => readStep(step) ?? [])

/**
 * Leaders' reports on their work, kept until shortly after the run's end. They are transient: a crash of the database
 * may lose all of them but the steps, which are kept with the run.
 */
export class ProgressStore extends Context.Service<ProgressStore>()("webhook-trigger/ProgressStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /**
     * Appends reports, at most one of each run, and does nothing for runs that have ended. Positions grow, also after all
     * progress was lost. A report whose first number is not above the last one's shows that the work started over: it
     * replaces the text so far. Steps are added for a minute after the run's end, too, and until it is released. Of more
     * than `keptSteps`, the oldest lose their details first, then they are removed.
     */
    const addProgress = Effect.fnUntraced(function* (reports: ReadonlyArray<ProgressReport>) {
      if (reports.length === 0) return
      yield* bounded(sql`
        with input as materialized (
          select * from ${recordset(sql, reportTypes, reports)}
        ), first as (
          select (extract(epoch from clock_timestamp()) * 1000000)::bigint as position
        ), reported as (
          select i.*, first.position as before,
            first.position + greatest(${shortestReport}::integer, char_length(coalesce(i.text, ''))) as after
          from input i join webhook_trigger.runs r on r.id = i.run_id, first
          where r.id = any(${runIds(sql, reports)}) and r.status in ${live}
          order by i.run_id
        ), stored as (
          insert into webhook_trigger.run_progress as p (
            run_id, position, kept_after, first_seq, seq, activity, activity_position
          )
          select run_id, after, before, first_seq, seq, activity, case when activity is not null then after end
          from reported
          on conflict (run_id) do update set
            position = p.position + excluded.position - excluded.kept_after + (excluded.first_seq <= p.seq)::integer,
            kept_after = greatest(
              case when excluded.first_seq <= p.seq then p.position + 1 else p.kept_after end,
              p.position + excluded.position - excluded.kept_after + (excluded.first_seq <= p.seq)::integer
                - ${keptText}::integer
            ),
            first_seq = excluded.first_seq,
            seq = excluded.seq,
            activity = coalesce(excluded.activity, p.activity),
            activity_position = case
              when excluded.activity is null then p.activity_position
              else p.position + excluded.position - excluded.kept_after + (excluded.first_seq <= p.seq)::integer
            end
          returning run_id, position, kept_after
        ), added as (
          insert into webhook_trigger.run_progress_texts (run_id, position, text)
          select s.run_id, s.position, i.text from stored s join input i using (run_id) where i.text is not null
        )${reports.some(({ steps }) => steps !== undefined) ? addSteps(reports) : sql``}
        delete from webhook_trigger.run_progress_texts t using stored s
        where t.run_id = s.run_id and t.position <= s.kept_after`)
    }, whenTraced("ProgressStore.addProgress"))

    /**
     * Queries that append the steps. The run is locked against its deletion, which would fail the reports of all others.
     * `total` is what is newer: the oldest quarter of what is kept has no details.
     */
    const addSteps = (reports: ReadonlyArray<ProgressReport>) => sql`, stepped as (
          insert into webhook_trigger.run_steps (run_id, position, steps, size)
          select i.run_id, coalesce(s.position, first.position), i.steps::jsonb, octet_length(i.steps)
          from first, input i
          join webhook_trigger.runs r on r.id = i.run_id and r.id = any(${runIds(sql, reports)})
          left join stored s on s.run_id = i.run_id
          where i.steps is not null
            and (s.run_id is not null or ${unreleased} or r.finished_at > now() - interval '1 minute')
          for key share of r
        ), sized as (
          select t.run_id, t.position, t.whole,
            sum(t.size) over (partition by t.run_id order by t.position desc) + octet_length(i.steps) as total
          from webhook_trigger.run_steps t join input i using (run_id) where i.steps is not null
        ), dropped as (
          delete from webhook_trigger.run_steps t using sized s
          where t.run_id = s.run_id and t.position = s.position and s.total > ${keptSteps}::integer
        ), slimmed as (
          update webhook_trigger.run_steps t
          set steps = slim.steps, size = octet_length(slim.steps::text), whole = false
          from sized s join webhook_trigger.run_steps o using (run_id, position) cross join lateral (
            select jsonb_agg(step - 'detail' order by at) as steps
            from jsonb_array_elements(o.steps) with ordinality as e(step, at)
          ) slim
          where t.run_id = s.run_id and t.position = s.position
            and s.whole and s.total between ${(keptSteps * 3) / 4}::integer and ${keptSteps}::integer
        )`

    /** The steps of the runs that have any. */
    const stepsOf = Effect.fnUntraced(function* (ids: ReadonlyArray<RunId>) {
      const rows = yield* bounded(sql<{ readonly run_id: RunId; readonly steps: ReadonlyArray<unknown> }>`
        select t.run_id, t.steps from webhook_trigger.run_steps t
        where t.run_id = any(${uuids(sql, ids)}) order by t.run_id, t.position`)
      const reported = new Map<RunId, Array<StepReport>>()
      for (const { run_id, steps } of rows) {
        const known = reported.get(run_id) ?? []
        reported.set(run_id, known)
        known.push(...decoded(steps))
      }
      return new Map(
        Array.from(reported, ([run_id, reports]): [RunId, ReadonlyArray<Step>] => [run_id, toSteps(reports)])
      )
    }, whenTraced("ProgressStore.stepsOf"))

    /** Removes a portion of the steps that were reported before. Returns how many reports. */
    const removeSteps = Effect.fnUntraced(function* (reportedBefore: DateTime.Utc) {
      const rows = yield* bounded(sql`
        delete from webhook_trigger.run_steps where (run_id, position) in (
          select run_id, position from webhook_trigger.run_steps
          where position < ${DateTime.toEpochMillis(reportedBefore) * 1000}::bigint limit ${removedInOneStep}
        )
        returning 1`)
      return rows.length
    }, whenTraced("ProgressStore.removeSteps"))

    /** The news after the marks, for the runs that exist. A mark that is beyond the last position counts as 0. */
    const newsOf = Effect.fnUntraced(function* (marks: ReadonlyArray<ProgressMark>) {
      if (marks.length === 0) return []
      const rows = yield* bounded(sql`
        select r.id as run_id, r.started_at, case when p.run_id is not null then json_build_object(
          'position', p.position,
          'kept_after', p.kept_after,
          'texts', coalesce((
            select json_agg(json_build_object('position', t.position, 'text', t.text) order by t.position)
            from webhook_trigger.run_progress_texts t where t.run_id = p.run_id and t.position > m.mark
          ), '[]'::json),
          'steps', coalesce((
            select json_agg(json_build_object('position', t.position, 'steps', t.steps) order by t.position)
            from webhook_trigger.run_steps t where t.run_id = p.run_id and t.position > m.mark
          ), '[]'::json),
          'activity', case when p.activity_position > m.mark then
            json_build_object('position', p.activity_position, 'text', p.activity)
          end
        ) end as progress
        from webhook_trigger.runs r
        join ${recordset(sql, markTypes, marks)} on i.run_id = r.id
        left join webhook_trigger.run_progress p on p.run_id = r.id and p.position <> i.position
        cross join lateral (select case when i.position > p.position then 0 else i.position end as mark) m
        where r.id = any(${runIds(sql, marks)})`)
      return rows.map((row): RunNews => {
        const { progress, ...news } = fromRow<RunNews>(row)
        if (progress === undefined) return news
        const { steps, ...read } = fromRow<ProgressNews>(progress)
        const reported = steps.map(({ position, steps }) => ({ position, steps: decoded(steps) }))
        return { ...news, progress: { ...read, steps: reported } }
      })
    }, whenTraced("ProgressStore.newsOf"))

    /** Removes the progress of runs that ended before, or no longer exist. */
    const removeProgress = Effect.fnUntraced(function* (endedBefore: DateTime.Utc) {
      yield* bounded(sql`
        with gone as (
          delete from webhook_trigger.run_progress p where not exists (
            select from webhook_trigger.runs r
            where r.id = p.run_id and (r.finished_at is null or r.finished_at >= ${DateTime.toDateUtc(endedBefore)})
          )
          returning run_id
        )
        delete from webhook_trigger.run_progress_texts t using gone where t.run_id = gone.run_id`)
    }, whenTraced("ProgressStore.removeProgress"))

    return { addProgress, newsOf, stepsOf, removeSteps, removeProgress }
  })
}) {
  static readonly layer = Layer.effect(ProgressStore, ProgressStore.make)
}
