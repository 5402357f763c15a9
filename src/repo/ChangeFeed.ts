import { Context, Effect, Layer, Queue, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { LeaderKeyId, RunId, WebhookId } from "../domain/Id.ts"
import type { TeamName } from "../domain/Team.ts"
import { makePublish, parseChanges } from "./Changes.ts"
import { bounded, readOnly, unavailable } from "./database/Database.ts"
import { Notifications } from "./database/Notifications.ts"

/** Something changed. Only a hint: one may be missed or repeated, so readers read the rows. */
export type Change =
  | { readonly _tag: "RunAccepted"; readonly team: TeamName }
  /** A trigger has joined the run, or none can join it any more. */
  | { readonly _tag: "RunChanged"; readonly run_id: RunId }
  | { readonly _tag: "RunStarted"; readonly run_id: RunId }
  | { readonly _tag: "RunEnded"; readonly run_id: RunId }
  | { readonly _tag: "WebhookChanged"; readonly webhook_id: WebhookId }
  /** Some of the webhook's requests were stored. */
  | { readonly _tag: "RequestsStored"; readonly webhook_id: WebhookId }
  /** A key was tried: `<process>,<right or wrong>,<network>`. */
  | { readonly _tag: "KeyTried"; readonly attempt: string }
  | { readonly _tag: "LeaderKeyRevoked"; readonly leader_key_id: LeaderKeyId }
  /** Another leader over HTTP leads the team, or none. */
  | { readonly _tag: "LeaderChanged"; readonly team: TeamName }
  /** The team's leader over HTTP may take a run. */
  | { readonly _tag: "RunOffered"; readonly team: TeamName }
  /** Attempts of deliveries are due. */
  | { readonly _tag: "DeliveryDue" }

type ChangeListener = (changes: ReadonlyArray<Change>) => void

/** How many changes a slow reader may be behind. */
const backlog = 16_384

/** The changes from now on, as a queue. A slow reader loses the oldest. */
export const subscribe = (
  feed: Pick<ChangeFeed["Service"], "listen">
): Effect.Effect<Queue.Dequeue<Change>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Effect.acquireRelease(Queue.sliding<Change>(backlog), Queue.shutdown)
    yield* feed.listen((changes) => {
      for (const change of changes) Queue.offerUnsafe(queue, change)
    })
    return queue
  })

/** The listeners of a feed. */
export const makeChangeListeners = () => {
  const listeners = new Set<ChangeListener>()
  return {
    /** Calls `listener` with each change from now on, until the scope closes. It must be quick, and not throw. */
    listen: (listener: ChangeListener): Effect.Effect<void, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.sync(() => listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener))
      ),
    notify: (changes: ReadonlyArray<Change>) => {
      for (const listener of listeners) listener(changes)
    }
  }
}

/** Changes of the rows by any process, published to every process. */
export class ChangeFeed extends Context.Service<ChangeFeed>()("webhook-trigger/ChangeFeed", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { listen, notify } = makeChangeListeners()
    const { deliver, send } = yield* makePublish
    yield* (yield* Notifications).listen((payload) => notify(parseChanges(payload)))
    return {
      listen,
      /** Notifies every process, including this one, of something that is in no row. */
      publish: Effect.fn("ChangeFeed.publish")((changes: ReadonlyArray<Change>) =>
        Effect.suspend(() => send(deliver(changes)))
      ),
      /** Succeeds when the database answers and accepts writes. */
      ping: Effect.flatMap(
        bounded(sql<{ readonly read_only: string }>`select ${sql.literal(readOnly)} as read_only`),
        ([row]) => (row?.read_only === "on" ? unavailable("The database is read-only.") : Effect.void)
      )
    }
  })
}) {
  static readonly layer = Layer.effect(ChangeFeed, ChangeFeed.make)
}
