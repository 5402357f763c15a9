import { Effect } from "effect"

/** The exact steps between which a crash matters most. */
export type RacePoint =
  /** Before the run's row is committed. */
  | "accept"
  /** The row is committed, nobody has been told. */
  | "accepted"
  /** The run is marked as about to be sent, nothing is sent. */
  | "admitted"
  /** The broker has confirmed the prompt, the row does not say so. */
  | "published"
  /** The end is committed, the reply is not acknowledged. */
  | "ended"

let hook: ((point: RacePoint) => Effect.Effect<void>) | undefined

/** For tests that stop a server at an exact step. */
export const onRacePoint = (reached: (point: RacePoint) => Effect.Effect<void>): void => {
  hook = reached
}

/** Nothing, unless a test listens. */
export const reach = (point: RacePoint): Effect.Effect<void> => (hook === undefined ? Effect.void : hook(point))
