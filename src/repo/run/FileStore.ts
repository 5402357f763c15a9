import { Context, type DateTime, type Effect, type Option } from "effect"
import type { FileMissing, NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { FileSource } from "../../domain/run/Attachments.ts"
import type { SentFile } from "../../domain/run/RunFile.ts"
import type { TeamName } from "../../domain/Team.ts"

/** A file that is not fetched yet. */
export interface WantedFile {
  readonly source: FileSource
  /** As it was announced. */
  readonly name: string
  readonly type: string
  /** Of its run. */
  readonly team: TeamName
  /** Of its run. `null`: it was deleted, or belongs to another team now. */
  readonly webhook_id: WebhookId | null
}

/** The contents of files, in the database or in the bucket. They are stored before their run or by its leader, shared by its
 * replays, and removed some time after the last of these runs. */
export class FileStore extends Context.Service<
  FileStore,
  {
    /** The content of a run's file. `NotFound`: also if it is not fetched yet. `FileMissing`: the bucket does not return it. */
    readonly fileBytes: (run_id: RunId, id: string) => Effect.Effect<Uint8Array, FileMissing | NotFound | Unavailable>
    /** Where a run's file is fetched from; none: it is here, or there is none. */
    readonly wantedFile: (run_id: RunId, id: string) => Effect.Effect<Option.Option<WantedFile>, Unavailable>
    /** Stores such a file. The first content remains. */
    readonly keepFetched: (run_id: RunId, id: string, bytes: Uint8Array) => Effect.Effect<void, Unavailable>
    /**
     * Stores the n-th file that the run's agent left, from 1 on, in place of an earlier attempt's n-th. Does nothing an hour
     * after the run's end: the answer may come before a file that was sent first.
     */
    readonly addFile: (run_id: RunId, n: number, file: SentFile) => Effect.Effect<void, Unavailable>
    /** Moves some contents from the database to the bucket, if there is one, and returns how many. Each is in one of them. */
    readonly moveContents: Effect.Effect<number, Unavailable>
    /** Removes some of the contents that no run has and that were stored before, and returns their number. 0: there are none. */
    readonly removeContents: (before: DateTime.Utc) => Effect.Effect<number, Unavailable>
  }
>()("webhook-trigger/FileStore") {}
