import { Effect, Schedule } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import { retry } from "./Retry.ts"

const backoff = Schedule.exponential("50 millis").pipe(Schedule.union(Schedule.spaced("1 second")), Schedule.jittered)

/** Tries again while database or broker are out of reach, for ever; other failures pass. */
export const persistently = <A, E extends { readonly _tag: string }, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, Unavailable>, R> =>
  effect.pipe(retry(Schedule.whileInput(backoff, (error: E) => error._tag === "Unavailable"))) as Effect.Effect<
    A,
    Exclude<E, Unavailable>,
    R
  >
