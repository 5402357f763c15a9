import { Context, Effect } from "effect"

/** The exact steps between which a crash matters most. */
export type Checkpoint =
  /** Before the run's row is committed. */
  | "accept"
  /** The row is committed, the caller has no answer yet. */
  | "accepted"
  /** The run is admitted, nothing is sent. */
  | "admitted"
  /** The broker has confirmed the prompt, the row does not say so. */
  | "published"
  /** The end is committed, the reply is not acknowledged. */
  | "ended"

/** For tests that stop a server at an exact step: called when the engine reaches one. Does nothing unless provided. */
export class Checkpoints extends Context.Reference("webhook-trigger/Checkpoints", {
  defaultValue: (): ((point: Checkpoint) => Effect.Effect<void>) => () => Effect.void
}) {}

/** The effect, after the checkpoint before it. Costs nothing where there is none. */
export const after = <A, E, R>(
  checkpoint: Effect.Effect<void>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => (checkpoint === Effect.void ? effect : Effect.andThen(checkpoint, effect))
