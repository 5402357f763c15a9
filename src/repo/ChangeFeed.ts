import { Chunk, Context, Effect, Queue, type Scope } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId, WebhookId } from "../domain/Id.ts"
import type { TeamName } from "../domain/Team.ts"

/** Something changed. Only a hint: one may be missed or come twice, so its reader reads the rows. */
export type Change =
  /** A run waits in the team's lane. */
  | { readonly _tag: "RunAccepted"; readonly team: TeamName }
  /** A run was accepted and admitted in one; it waits for nothing. */
  | { readonly _tag: "RunAdmitted"; readonly team: TeamName }
  | { readonly _tag: "RunStarted"; readonly run_id: RunId }
  | { readonly _tag: "RunEnded"; readonly run_id: RunId }
  | { readonly _tag: "WebhookChanged"; readonly webhook_id: WebhookId }
  | { readonly _tag: "LeaseReleased" }

/** What any process changes in the rows, published to every process. */
export class ChangeFeed extends Context.Tag("webhook-trigger/ChangeFeed")<
  ChangeFeed,
  {
    /** What changes from now on: subscribed once the effect has succeeded. A slow reader loses the oldest. */
    readonly changes: Effect.Effect<Queue.Dequeue<Change>, never, Scope.Scope>
    /** Succeeds when the database answers. */
    readonly ping: Effect.Effect<void, Unavailable>
  }
>() {}

/** Handles what changes, forever; what has come meanwhile, together. */
export const onChanges = <E, R>(
  changes: Queue.Dequeue<Change>,
  handle: (changes: ReadonlyArray<Change>) => Effect.Effect<void, E, R>
): Effect.Effect<never, E, R> =>
  Queue.takeBetween(changes, 1, 1_000).pipe(
    Effect.flatMap((all) => handle(Chunk.toReadonlyArray(all))),
    Effect.forever
  )
