import { randomUUID } from "node:crypto"
import { Context, DateTime, Effect, Layer, Option, Result } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { FileMissing, NotFound } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { FileSource } from "../../domain/run/Attachments.ts"
import { type SentFile, sentId, storedFile } from "../../domain/run/RunFile.ts"
import type { TeamName } from "../../domain/Team.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { bounded } from "../database/Database.ts"
import { isOut } from "../RunColumns.ts"
import { type Bucket, FileBucket, unavailable } from "./FileBucket.ts"
import { keyOf } from "./FileContents.ts"

/** A file that is not fetched yet. */
export interface WantedFile {
  readonly source: FileSource
  /** As it was announced. */
  readonly name: string
  readonly type: string
  /** The team of its run. */
  readonly team: TeamName
  /** The webhook of its run. `null`: it was deleted, or belongs to another team now. */
  readonly webhook_id: WebhookId | null
}

/** Contents of files that one statement removes. */
const removedInOneStep = 10
/** Files that a server moves to the bucket at a time. */
const movedInOneStep = 4
/** So long one that was not moved waits for the next try, by any server. Longer than the bucket's time limit. */
const moveAgain = "30 seconds"

/** The contents of files, in the database or in the bucket. They are stored before their run or by its leader, shared by its
 * replays, and removed some time after the last of these runs. */
export class FileStore extends Context.Service<FileStore>()("webhook-trigger/FileStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const bucket = yield* FileBucket
    let hasWarned = false

    /** The content of a run's file. `NotFound`: also if it is not fetched yet. `FileMissing`: the bucket does not return it. */
    const fileBytes = Effect.fnUntraced(function* (run_id: RunId, id: string) {
      const [row] = yield* bounded(sql<{ readonly key: string; readonly bytes: Uint8Array | null }>`
        select c.key, c.bytes from webhook_trigger.run_files f join webhook_trigger.file_contents c on c.key = f.content
        where f.run_id = ${run_id} and f.id = ${id} and c.source is null`)
      if (row === undefined) return yield* new NotFound()
      // Also with a bucket: it may have been stored before.
      if (row.bytes !== null) return row.bytes
      if (Option.isNone(bucket)) {
        const error = unavailable(`The file ${id} of run ${run_id} is in a bucket, but WEBHOOK_FILES_S3 is not set.`)
        return yield* Effect.andThen(Effect.logWarning(error.detail), error)
      }
      const object = yield* bucket.value.get(row.key)
      if (Option.isSome(object)) return object.value
      yield* Effect.logWarning(`The bucket has no object ${row.key}. Does a lifecycle rule delete objects?`)
      return yield* new FileMissing({ reason: "The bucket of the server no longer has it." })
    }, whenTraced("FileStore.fileBytes"))

    /** Stores a content under a key that no other has, if `wanted` has a row. Returns the key for the run to refer to. */
    const store = Effect.fnUntraced(function* (
      run_id: RunId,
      id: string,
      bytes: Uint8Array,
      wanted: Statement.Fragment
    ) {
      const key = `${keyOf(run_id, id)}.${randomUUID()}`
      const rows = yield* bounded(sql`
        insert into webhook_trigger.file_contents (key, bytes, in_bucket)
        select ${key}::text, ${bytes}::bytea, ${Option.isSome(bucket)}::boolean ${wanted} returning key`)
      return rows.length === 0 ? Option.none<string>() : Option.some(key)
    })

    /** Where a run's file is fetched from; none: it is here, or there is none. */
    const wantedFile = Effect.fnUntraced(
      function* (run_id: RunId, id: string) {
        const [row] = yield* sql<WantedFile>`
          select c.source, shown.file ->> 'name' as name, shown.file ->> 'type' as type, r.team, w.id as webhook_id
          from webhook_trigger.run_files f
          join webhook_trigger.file_contents c on c.key = f.content
          join webhook_trigger.runs r on r.id = f.run_id
          join json_array_elements(r.files) as shown (file) on shown.file ->> 'id' = f.id
          left join webhook_trigger.webhooks w on w.id = r.webhook_id and w.team = r.team
          where f.run_id = ${run_id} and f.id = ${id} and c.source is not null`
        return Option.fromNullishOr(row)
      },
      bounded,
      whenTraced("FileStore.wantedFile")
    )

    /** Stores such a file. The first content remains. */
    const keepFetched = Effect.fnUntraced(function* (run_id: RunId, id: string, bytes: Uint8Array) {
      const wanted = sql`
        from webhook_trigger.run_files w join webhook_trigger.file_contents c on c.key = w.content
        where w.run_id = ${run_id} and w.id = ${id} and c.source is not null`
      const key = yield* store(run_id, id, bytes, wanted)
      if (Option.isNone(key)) return
      yield* bounded(sql`
        with wanted as (select c.key ${wanted}), stored as (
          update webhook_trigger.run_files f set content = ${key.value} from wanted w where f.content = w.key returning f.run_id
        )
        update webhook_trigger.runs r set files = (
          select json_agg(
            case when f.file ->> 'id' = ${id}
              then (f.file::jsonb || jsonb_build_object('size', ${bytes.length}::int))::json else f.file end
            order by f.ord
          )
          from json_array_elements(r.files) with ordinality as f (file, ord)
        )
        where r.id in (select run_id from stored)`)
    }, whenTraced("FileStore.keepFetched"))

    /**
     * Stores the n-th file that the run's agent left, from 1 on, in place of an earlier attempt's n-th. Does nothing an hour
     * after the run's end: the answer may come before a file that was sent first.
     */
    const addFile = Effect.fnUntraced(function* (run_id: RunId, n: number, sent: SentFile) {
      const { bytes, ...file } = storedFile(sentId(n), sent, [])
      const mayAdd = sql`r.id = ${run_id} and (${isOut} or r.finished_at > now() - interval '1 hour')`
      // Without a lock of the run, for which others would wait.
      const key = yield* store(run_id, file.id, bytes, sql`from webhook_trigger.runs r where ${mayAdd}`)
      if (Option.isNone(key)) return
      yield* bounded(sql`
        with stored as (
          insert into webhook_trigger.run_files (run_id, id, content)
          select r.id, ${file.id}::text, ${key.value}::text from webhook_trigger.runs r where ${mayAdd}
          on conflict (run_id, id) do update set content = excluded.content returning run_id
        )
        update webhook_trigger.runs r set files = (
          select json_agg(f order by f ->> 'id' like 'out-%', length(f ->> 'id'), f ->> 'id') from (
            select f from json_array_elements(r.files) as f where f ->> 'id' <> ${file.id}
            union all select ${JSON.stringify(file)}::json
          ) as files
        )
        from stored where r.id = stored.run_id`)
    }, whenTraced("FileStore.addFile"))

    /**
     * Removes some of the contents that no run has and that were stored before, and returns their number. 0: there are none.
     *
     * A content's row is deleted before its object. From then on, the reference of `run_files` keeps a replay that begins now from
     * sharing it. Its key remains in `removed_objects` until the object is gone, also after a crash.
     */
    const removeContents = Effect.fn("FileStore.removeContents")(function* (before: DateTime.Utc) {
      const rows = yield* bounded(sql<{ readonly key: string; readonly in_bucket: boolean }>`
        with removed as (
          delete from webhook_trigger.file_contents where key = any (array(
            select c.key from webhook_trigger.file_contents c
            where c.stored_at < ${DateTime.toDateUtc(before)}
              and not exists (select from webhook_trigger.run_files f where f.content = c.key)
            limit ${removedInOneStep}
          )) returning key, in_bucket
        ), noted as (
          insert into webhook_trigger.removed_objects (key) select key from removed where in_bucket on conflict do nothing
        )
        select key, in_bucket from removed
        ${Option.isNone(bucket) ? sql`` : sql`union all (select key, true from webhook_trigger.removed_objects limit ${removedInOneStep})`}`)
      const objects = rows.flatMap(({ in_bucket, key }) => (in_bucket ? key : []))
      if (objects.length === 0) return rows.length
      if (Option.isSome(bucket)) {
        yield* Effect.forEach(objects, bucket.value.remove, { concurrency: removedInOneStep, discard: true })
        yield* bounded(sql`delete from webhook_trigger.removed_objects where key in ${sql.in(objects)}`)
      } else if (!hasWarned) {
        hasWarned = true
        yield* Effect.logWarning("Files of removed runs are left in the bucket: WEBHOOK_FILES_S3 is not set.")
      }
      return rows.length
    })

    /** Its object, in place of the bytes; or, if the row was removed meanwhile, no object either. */
    const move = (bucket: Bucket, { bytes, key }: { readonly bytes: Uint8Array; readonly key: string }) =>
      Effect.gen(function* () {
        yield* bucket.put(key, bytes)
        const moved = yield* bounded(
          sql`update webhook_trigger.file_contents set bytes = null where key = ${key} returning key`
        )
        if (moved.length === 0) yield* bucket.remove(key)
      })

    /**
     * Moves some contents from the database to the bucket, if there is one, and returns how many. Each is in one of them.
     *
     * Takes those that were tried longest ago: one that does not succeed delays no others.
     */
    const moveContents = Effect.suspend(() =>
      Option.match(bucket, {
        onNone: () => Effect.succeed(0),
        onSome: (bucket) =>
          Effect.gen(function* () {
            const rows = yield* bounded(sql<{ readonly key: string; readonly bytes: Uint8Array }>`
              update webhook_trigger.file_contents set move_at = now() + ${moveAgain}::interval
              where key = any (array(
                select key from webhook_trigger.file_contents where in_bucket and bytes is not null and move_at <= now()
                order by move_at limit ${movedInOneStep} for update skip locked
              )) returning key, bytes`)
            const moves = rows.map((row) => Effect.result(move(bucket, row)))
            const moved = yield* Effect.all(moves, { concurrency: movedInOneStep })
            return moved.filter(Result.isSuccess).length
          }).pipe(whenTraced("FileStore.moveContents"))
      })
    )

    return { fileBytes, wantedFile, keepFetched, addFile, moveContents, removeContents }
  })
}) {
  static readonly layer = Layer.effect(FileStore, FileStore.make)
}
