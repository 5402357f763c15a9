import { SqlClient, type Statement } from "@effect/sql"
import { Effect, Layer } from "effect"
import { NotFound } from "../../../domain/Errors.ts"
import type { RunId } from "../../../domain/Id.ts"
import { type SentFile, storedFile } from "../../../domain/run/RunFile.ts"
import { whenTraced } from "../../../telemetry/Span.ts"
import { FileStore } from "../../run/FileStore.ts"
import type { NewRun } from "../../run/RunStore.ts"
import { bounded } from "../database/Database.ts"
import { isOut } from "../RunColumns.ts"

/** For an acceptance: stores the files of the runs that are `inserted`, from an `input`. Nothing for runs without files. */
export const filesOf = (sql: SqlClient.SqlClient, runs: ReadonlyArray<NewRun>): Statement.Fragment => {
  const withFiles = runs.filter(({ files }) => files !== undefined)
  if (withFiles.length === 0) return sql``
  // As values of their own: as JSON, they would be twice as long.
  const sent = withFiles.flatMap(({ files = [], run_id }) =>
    files.flatMap(({ bytes, id }) =>
      bytes === undefined ? [] : [sql`select ${run_id}::uuid as run_id, ${id}::text as id, ${bytes}::bytea as bytes`]
    )
  )
  const copied = sql`select i.id as run_id, f.id, f.bytes from input i
    join webhook_trigger.run_files f on f.run_id = i.replay_of and f.id like 'in-%'`
  return sql`filed as (
    insert into webhook_trigger.run_files (run_id, id, bytes)
    select f.run_id, f.id, f.bytes
    from inserted join (${sql.join(" union all ", false)([...sent, copied])}) as f on f.run_id = inserted.id
  ),`
}

export const layer: Layer.Layer<FileStore, never, SqlClient.SqlClient> = Layer.effect(
  FileStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const fileBytes = Effect.fnUntraced(
      function* (run_id: RunId, id: string) {
        const [row] = yield* sql<{ readonly bytes: Uint8Array }>`
          select f.bytes from webhook_trigger.run_files f where f.run_id = ${run_id} and f.id = ${id}`
        return row?.bytes ?? (yield* new NotFound())
      },
      bounded,
      whenTraced("FileStore.fileBytes")
    )

    const addFile = Effect.fnUntraced(
      function* (run_id: RunId, n: number, sent: SentFile) {
        const { bytes, ...file } = storedFile(`out-${n}`, sent, [])
        yield* sql`
          with run as materialized (
            select r.id, r.files from webhook_trigger.runs r
            where r.id = ${run_id} and (${isOut} or r.finished_at > now() - interval '1 minute')
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

    return FileStore.of({ fileBytes, addFile })
  })
)
