import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { InvalidParameter, NotFound, RunUnfinished, ThreadEnded, Unavailable } from "../../domain/Errors.ts"
import type { RunId, ThreadId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Thread } from "../../domain/Thread.ts"

/** A page of a team's threads, those with the newest runs first. */
export interface ThreadQuery {
  readonly team: TeamName
  readonly key?: string
  readonly limit: number
  /** Opaque; from the page before, of the same query. */
  readonly cursor?: string
}

export interface ThreadPage {
  readonly data: ReadonlyArray<Thread>
  /** `null` on the last page. */
  readonly next_cursor: string | null
}

/** Conversations as people read and end them. Runs join them in `RunStore.accept`. A thread without runs is gone. */
export class ThreadStore extends Context.Service<
  ThreadStore,
  {
    /** `NotFound`: there is no such team. */
    readonly threads: (query: ThreadQuery) => Effect.Effect<ThreadPage, InvalidParameter | NotFound | Unavailable>
    readonly thread: (id: ThreadId) => Effect.Effect<Thread, NotFound | Unavailable>
    /**
     * The run's thread, to be continued. A run without one begins it: it is the thread's first run, and its ID the key.
     * `RunUnfinished`: it has no place in the lane yet. `NotFound`: no such run, or its team was deleted.
     */
    readonly continueThread: (
      run_id: RunId,
      at: DateTime.Utc
    ) => Effect.Effect<Thread, NotFound | RunUnfinished | ThreadEnded | Unavailable>
    /** Ends the thread, unless it has ended. With a draft, this writes its audit event in the same commit. */
    readonly endThread: (
      id: ThreadId,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) => Effect.Effect<Thread, NotFound | Unavailable>
    /** Ends a portion of the threads whose runs have ended, all accepted before `before`; returns how many. */
    readonly endIdleThreads: (before: DateTime.Utc, at: DateTime.Utc) => Effect.Effect<number, Unavailable>
  }
>()("webhook-trigger/ThreadStore") {}
