import { Context, type Effect } from "effect"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { SentFile } from "../../domain/run/RunFile.ts"

/** The contents of files. They are stored with their run's acceptance or by its leader, and deleted with the run. */
export class FileStore extends Context.Tag("webhook-trigger/FileStore")<
  FileStore,
  {
    /** The content of a run's file. */
    readonly fileBytes: (run_id: RunId, id: string) => Effect.Effect<Uint8Array, NotFound | Unavailable>
    /**
     * Stores the n-th file that the run's agent left, from 1 on, in place of an earlier attempt's n-th. Does nothing an hour
     * after the run's end: the answer may come before a file that was sent first.
     */
    readonly addFile: (run_id: RunId, n: number, file: SentFile) => Effect.Effect<void, Unavailable>
  }
>() {}
