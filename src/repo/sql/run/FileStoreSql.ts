import { SqlClient, type Statement } from "@effect/sql"
import { Effect, Layer, Option } from "effect"
import { NotFound } from "../../../domain/Errors.ts"
import type { RunId } from "../../../domain/Id.ts"
import { type SentFile, sentId, storedFile } from "../../../domain/run/RunFile.ts"
import { whenTraced } from "../../../telemetry/Span.ts"
import { FileStore, type WantedFile } from "../../run/FileStore.ts"
import type { NewRun } from "../../run/RunStore.ts"
import { recordset } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { isOut } from "../RunColumns.ts"

const sentTypes = { run_id: "uuid", id: "text", first_byte: "int", size: "int", source: "json" } as const

/**
 * For an acceptance: stores the files of the runs that are `inserted`, from an `input`. `counted` makes `answered` wait for
 * that: otherwise it would come last, under the lock of the admission, for which all servers wait. Nothing for runs without
 * files.
 */
export const filesOf = (
  sql: SqlClient.SqlClient,
  runs: ReadonlyArray<NewRun>
): { readonly filed: Statement.Fragment; readonly counted: Statement.Fragment } => {
  const withFiles = runs.filter(({ files }) => files !== undefined)
  if (withFiles.length === 0) return { filed: sql``, counted: sql`` }
  const sent: Array<object> = []
  const contents: Array<Uint8Array> = []
  let first_byte = 1
  for (const { files = [], run_id } of withFiles) {
    for (const { bytes, id, source } of files) {
      if (source !== undefined) sent.push({ run_id, id, source })
      if (bytes === undefined) continue
      sent.push({ run_id, id, first_byte, size: bytes.length })
      contents.push(bytes)
      first_byte += bytes.length
    }
  }
  // One value: as JSON it would be twice as long, and the statement's text must not depend on the number of files.
  return {
    filed: sql`filed as (
      insert into webhook_trigger.run_files (run_id, id, bytes, source)
      select f.run_id, f.id, f.bytes, f.source from inserted join (
        select i.run_id, i.id, substr(${Buffer.concat(contents)}::bytea, i.first_byte, i.size) as bytes, i.source::json
        from ${recordset(sql, sentTypes, sent)}
        union all
        select i.id, f.id, f.bytes, f.source from input i
        join webhook_trigger.run_files f on f.run_id = i.replay_of and f.id like 'in-%'
      ) as f on f.run_id = inserted.id
      returning run_id
    ),`,
    counted: sql`, (select count(*) from filed) as filed`
  }
}

export const layer: Layer.Layer<FileStore, never, SqlClient.SqlClient> = Layer.effect(
  FileStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const fileBytes = Effect.fnUntraced(
      function* (run_id: RunId, id: string) {
        const [row] = yield* sql<{ readonly bytes: Uint8Array }>`
          select f.bytes from webhook_trigger.run_files f where f.run_id = ${run_id} and f.id = ${id} and f.bytes is not null`
        return row?.bytes ?? (yield* new NotFound())
      },
      bounded,
      whenTraced("FileStore.fileBytes")
    )

    const wantedFile = Effect.fnUntraced(
      function* (run_id: RunId, id: string) {
        const [row] = yield* sql<WantedFile>`
          select f.source, w.id as webhook_id from webhook_trigger.run_files f
          join webhook_trigger.runs r on r.id = f.run_id
          left join webhook_trigger.webhooks w on w.id = r.webhook_id and w.team = r.team
          where f.run_id = ${run_id} and f.id = ${id} and f.bytes is null`
        return Option.fromNullable(row)
      },
      bounded,
      whenTraced("FileStore.wantedFile")
    )

    const keepFetched = Effect.fnUntraced(
      function* (run_id: RunId, id: string, bytes: Uint8Array) {
        yield* sql`
          with stored as (
            update webhook_trigger.run_files f set bytes = ${bytes}
            where f.run_id = ${run_id} and f.id = ${id} and f.bytes is null
            returning f.run_id
          )
          update webhook_trigger.runs r set files = (
            select json_agg(
              case when f.file ->> 'id' = ${id}
                then (f.file::jsonb || jsonb_build_object('size', ${bytes.length}::int))::json else f.file end
              order by f.ord
            )
            from json_array_elements(r.files) with ordinality as f (file, ord)
          )
          from stored where r.id = stored.run_id`
      },
      bounded,
      whenTraced("FileStore.keepFetched")
    )

    const addFile = Effect.fnUntraced(
      function* (run_id: RunId, n: number, sent: SentFile) {
        const { bytes, ...file } = storedFile(sentId(n), sent, [])
        yield* sql`
          with run as materialized (
            select r.id, r.files from webhook_trigger.runs r
            where r.id = ${run_id} and (${isOut} or r.finished_at > now() - interval '1 hour')
            for no key update
          ), stored as (
            insert into webhook_trigger.run_files (run_id, id, bytes) select run.id, ${file.id}, ${bytes} from run
            on conflict (run_id, id) do update set bytes = excluded.bytes
          )
          update webhook_trigger.runs r set files = (
            select json_agg(f order by f ->> 'id' like 'out-%', length(f ->> 'id'), f ->> 'id') from (
              select f from json_array_elements(run.files) as f where f ->> 'id' <> ${file.id}
              union all select ${JSON.stringify(file)}::json
            ) as files
          )
          from run where r.id = run.id`
      },
      bounded,
      whenTraced("FileStore.addFile")
    )

    return FileStore.of({ fileBytes, wantedFile, keepFetched, addFile })
  })
)
