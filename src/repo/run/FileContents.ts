/** The contents of files that come with their runs. */
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { RunId } from "../../domain/Id.ts"
import { bounded } from "../database/Database.ts"
import { FileBucket } from "./FileBucket.ts"
import type { NewRun } from "./RunStore.ts"

export const keyOf = (run_id: RunId, id: string): string => `${run_id}/${id}`

/**
 * Stores the contents of files before their runs: under the locks of an acceptance, other runs would wait for them. Those of runs
 * that are then refused are removed later. A bucket gets them later, too (`moveContents`): no request waits for it.
 */
export const makeStoreContents = Effect.map(Effect.all([SqlClient.SqlClient, FileBucket]), ([sql, bucket]) => {
  const inBucket = Option.isSome(bucket)
  return (runs: ReadonlyArray<NewRun>) =>
    Effect.forEach(
      runs.flatMap(({ files = [], run_id }) => files.map((file) => ({ ...file, key: keyOf(run_id, file.id) }))),
      ({ bytes, key, source }) =>
        bytes === undefined && source === undefined
          ? Effect.void
          : bounded(sql`
              insert into webhook_trigger.file_contents (key, bytes, source, in_bucket)
              values (
                ${key}, ${bytes ?? null}, ${source === undefined ? null : JSON.stringify(source)}::json,
                ${inBucket && bytes !== undefined}
              ) on conflict (key) do nothing`),
      { discard: true }
    )
})

/** The contents that these runs' files refer to. `undefined`: none of the runs has files. */
export const sentFiles = (runs: ReadonlyArray<NewRun>) =>
  runs.some(({ files }) => files !== undefined)
    ? runs.flatMap(({ files = [], run_id }) =>
        files.flatMap(({ bytes, id, source }) =>
          bytes === undefined && source === undefined ? [] : { run_id, id, content: keyOf(run_id, id) }
        )
      )
    : undefined
