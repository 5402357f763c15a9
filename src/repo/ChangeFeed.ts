import { Context, Effect, Queue, type Scope } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId, SessionId, WebhookId } from "../domain/Id.ts"
import type { TeamName } from "../domain/Team.ts"

/** Something changed. Only a hint: one may be missed or come twice, so its reader reads the rows. */
export type Change =
  /** A run waits in the team's lane, and the dispatcher is to look for it. */
  | { readonly _tag: "RunAccepted"; readonly team: TeamName }
  /** A run was accepted by the dispatcher, which knows of it. */
  | { readonly _tag: "RunAdmitted"; readonly team: TeamName }
  /** A trigger has joined the run, or none can join it any more. */
  | { readonly _tag: "RunChanged"; readonly run_id: RunId }
  | { readonly _tag: "RunStarted"; readonly run_id: RunId }
  | { readonly _tag: "RunEnded"; readonly run_id: RunId }
  | { readonly _tag: "WebhookChanged"; readonly webhook_id: WebhookId }
  /** Somebody has tried a key: `<process>,<right or wrong>,<network>`. */
  | { readonly _tag: "KeyTried"; readonly attempt: string }
  | { readonly _tag: "SessionEnded"; readonly session_id: SessionId }
  | { readonly _tag: "LeaseReleased" }

export type ChangeListener = (changes: ReadonlyArray<Change>) => void

/** What any process changes in the rows, published to every process. */
export class ChangeFeed extends Context.Tag("webhook-trigger/ChangeFeed")<
  ChangeFeed,
  {
    /** Calls `listener` with what changes from now on, until the scope closes. It must be quick, and not throw. */
    readonly listen: (listener: ChangeListener) => Effect.Effect<void, never, Scope.Scope>
    /** Tells every process, this one too, of what is in no row. */
    readonly publish: (changes: ReadonlyArray<Change>) => Effect.Effect<void, Unavailable>
    /** Succeeds when the database answers. */
    readonly ping: Effect.Effect<void, Unavailable>
  }
>() {}

/** Changes that a slow reader may be behind. */
const backlog = 16_384

/** What changes from now on, as a queue; a slow reader loses the oldest. */
export const subscribe = (
  feed: Pick<Context.Tag.Service<ChangeFeed>, "listen">
): Effect.Effect<Queue.Dequeue<Change>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Effect.acquireRelease(Queue.sliding<Change>(backlog), Queue.shutdown)
    yield* feed.listen((changes) => {
      for (const change of changes) queue.unsafeOffer(change)
    })
    return queue
  })

/** The listeners of one feed. */
export const makeChangeListeners = (): Pick<Context.Tag.Service<ChangeFeed>, "listen"> & {
  readonly notify: ChangeListener
} => {
  const listeners = new Set<ChangeListener>()
  return {
    listen: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener))
      ),
    notify: (changes) => {
      for (const listener of listeners) listener(changes)
    }
  }
}
