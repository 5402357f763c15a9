import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect, Layer, Option } from "effect"
import { NotFound } from "../../../domain/Errors.ts"
import type { RunId } from "../../../domain/Id.ts"
import { type SentFile, sentId, storedFile } from "../../../domain/run/RunFile.ts"
import { whenTraced } from "../../../telemetry/Span.ts"
import { FileStore, type WantedFile } from "../../run/FileStore.ts"
import type { NewRun } from "../../run/RunStore.ts"
import { recordset } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { isOut } from "../RunColumns.ts"

const keyOf = (run_id: RunId, id: string): string => `${run_id}/${id}`

/**
 * Stores the contents of files before their runs: under the locks of an acceptance, other runs would wait for them. Those of runs
 * that are then refused are removed later.
 */
export const makeStoreContents = Effect.map(SqlClient.SqlClient, (sql) => (runs: ReadonlyArray<NewRun>) => {
  const contents = runs.flatMap(({ files = [], run_id }) =>
    files.flatMap(({ bytes, id, source }) =>
      bytes === undefined && source === undefined ? [] : { key: keyOf(run_id, id), bytes, source }
    )
  )
  return Effect.forEach(
    contents,
    ({ bytes = null, key, source }) =>
      bounded(sql`
        insert into webhook_trigger.file_contents (key, bytes, source)
        values (${key}, ${bytes}, ${source === undefined ? null : JSON.stringify(source)}::json) on conflict (key) do nothing`),
    { discard: true }
  )
})

const fileTypes = { run_id: "uuid", id: "text", content: "text" } as const

/** For an acceptance: the files of the runs that are `inserted`, from an `input`. A replay shares the contents of its run's. */
export const filesOf = (sql: SqlClient.SqlClient, runs: ReadonlyArray<NewRun>): Statement.Fragment => {
  if (!runs.some(({ files }) => files !== undefined)) return sql``
  const sent = runs.flatMap(({ files = [], run_id }) =>
    files.flatMap(({ bytes, id, source }) =>
      bytes === undefined && source === undefined ? [] : { run_id, id, content: keyOf(run_id, id) }
    )
  )
  return sql`filed as (
    insert into webhook_trigger.run_files (run_id, id, content)
    select f.run_id, f.id, f.content from inserted join (
      select i.run_id, i.id, i.content from ${recordset(sql, fileTypes, sent)}
      union all
      select i.id, f.id, f.content from input i
      join webhook_trigger.run_files f on f.run_id = i.replay_of and f.id like 'in-%'
    ) as f on f.run_id = inserted.id
  ),`
}

/** Contents of files that one statement removes. */
const removedInOneStep = 10

export const layer: Layer.Layer<FileStore, never, SqlClient.SqlClient> = Layer.effect(
  FileStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const fileBytes = Effect.fnUntraced(
      function* (run_id: RunId, id: string) {
        const [row] = yield* sql<{ readonly bytes: Uint8Array }>`
          select c.bytes from webhook_trigger.run_files f join webhook_trigger.file_contents c on c.key = f.content
          where f.run_id = ${run_id} and f.id = ${id} and c.bytes is not null`
        return row?.bytes ?? (yield* new NotFound())
      },
      bounded,
      whenTraced("FileStore.fileBytes")
    )

    const wantedFile = Effect.fnUntraced(
      function* (run_id: RunId, id: string) {
        const [row] = yield* sql<WantedFile>`
          select c.source, r.team, w.id as webhook_id from webhook_trigger.run_files f
          join webhook_trigger.file_contents c on c.key = f.content
          join webhook_trigger.runs r on r.id = f.run_id
          left join webhook_trigger.webhooks w on w.id = r.webhook_id and w.team = r.team
          where f.run_id = ${run_id} and f.id = ${id} and c.source is not null`
        return Option.fromNullable(row)
      },
      bounded,
      whenTraced("FileStore.wantedFile")
    )

    const keepFetched = Effect.fnUntraced(
      function* (run_id: RunId, id: string, bytes: Uint8Array) {
        yield* sql`
          with stored as (
            update webhook_trigger.file_contents c set bytes = ${bytes}, source = null from webhook_trigger.run_files f
            where f.run_id = ${run_id} and f.id = ${id} and c.key = f.content and c.source is not null
            returning c.key
          )
          update webhook_trigger.runs r set files = (
            select json_agg(
              case when f.file ->> 'id' = ${id}
                then (f.file::jsonb || jsonb_build_object('size', ${bytes.length}::int))::json else f.file end
              order by f.ord
            )
            from json_array_elements(r.files) with ordinality as f (file, ord)
          )
          where r.id in (select f.run_id from stored join webhook_trigger.run_files f on f.content = stored.key)`
      },
      bounded,
      whenTraced("FileStore.keepFetched")
    )

    const addFile = Effect.fnUntraced(
      function* (run_id: RunId, n: number, sent: SentFile) {
        const { bytes, ...file } = storedFile(sentId(n), sent, [])
        const key = keyOf(run_id, file.id)
        const mayAdd = sql`r.id = ${run_id} and (${isOut} or r.finished_at > now() - interval '1 hour')`
        // Without a lock of the run, for which others would wait.
        yield* sql`
          insert into webhook_trigger.file_contents (key, bytes)
          select ${key}::text, ${bytes}::bytea from webhook_trigger.runs r where ${mayAdd}
          on conflict (key) do update set bytes = excluded.bytes, stored_at = now()`
        yield* sql`
          with stored as (
            insert into webhook_trigger.run_files (run_id, id, content)
            select r.id, ${file.id}::text, c.key from webhook_trigger.runs r join webhook_trigger.file_contents c on c.key = ${key}
            where ${mayAdd}
            on conflict (run_id, id) do update set content = excluded.content returning run_id
          )
          update webhook_trigger.runs r set files = (
            select json_agg(f order by f ->> 'id' like 'out-%', length(f ->> 'id'), f ->> 'id') from (
              select f from json_array_elements(r.files) as f where f ->> 'id' <> ${file.id}
              union all select ${JSON.stringify(file)}::json
            ) as files
          )
          from stored where r.id = stored.run_id`
      },
      bounded,
      whenTraced("FileStore.addFile")
    )

    const removeContents = Effect.fn("FileStore.removeContents")(function* (before: DateTime.Utc) {
      const removed = yield* sql`
        delete from webhook_trigger.file_contents where key = any (array(
          select c.key from webhook_trigger.file_contents c
          where c.stored_at < ${DateTime.toDateUtc(before)}
            and not exists (select from webhook_trigger.run_files f where f.content = c.key)
          limit ${removedInOneStep}
        )) returning key`
      return removed.length
    }, bounded)

    return FileStore.of({ fileBytes, wantedFile, keepFetched, addFile, removeContents })
  })
)
