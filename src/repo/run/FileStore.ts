import { Context, type DateTime, type Effect } from "effect"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { SentFile } from "../../domain/run/RunFile.ts"

/** The contents of files. They are stored before their run or by its leader, shared by its replays, and
 * removed some time after the last of these runs. */
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
    /** Removes some of the contents that no run has and that were stored before, and returns their number. 0: there are none. */
    readonly removeContents: (before: DateTime.Utc) => Effect.Effect<number, Unavailable>
  }
>() {}
