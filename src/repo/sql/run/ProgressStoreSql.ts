import { SqlClient } from "@effect/sql"
import { DateTime, Effect, Layer } from "effect"
import { whenTraced } from "../../../telemetry/Span.ts"
import {
  keptText,
  type ProgressMark,
  type ProgressNews,
  type ProgressReport,
  ProgressStore,
  type RunNews,
  shortestReport
} from "../../run/ProgressStore.ts"
import { type ColumnTypes, fromRow, recordset, runIds } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { live } from "../RunColumns.ts"

const reportTypes: ColumnTypes = {
  run_id: "uuid",
  first_seq: "bigint",
  seq: "bigint",
  text: "text",
  activity: "text"
}
const markTypes: ColumnTypes = { run_id: "uuid", position: "bigint" }

export const layer: Layer.Layer<ProgressStore, never, SqlClient.SqlClient> = Layer.effect(
  ProgressStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

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
        )
        delete from webhook_trigger.run_progress_texts t using stored s
        where t.run_id = s.run_id and t.position <= s.kept_after`)
    }, whenTraced("ProgressStore.addProgress"))

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
        return progress === undefined ? news : { ...news, progress: fromRow<ProgressNews>(progress) }
      })
    }, whenTraced("ProgressStore.newsOf"))

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

    return ProgressStore.of({ addProgress, newsOf, removeProgress })
  })
)
