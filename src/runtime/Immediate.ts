/**
 * Effect's operators for the path of every trigger, where most effects have their result already: they go on with it
 * immediately, in place of one step of the run loop and a closure for each. The others are left to Effect. What is called may
 * run when the effect is made, so it is to be made where it is run: in a function that Effect calls.
 */
import { Effect, Either, Exit } from "effect"

/** The result, if the effect has one already. */
const resultOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Exit.Exit<A, E> | undefined => {
  if (Exit.isExit(effect)) return effect as Exit.Exit<A, E>
  if (!Either.isEither(effect)) return undefined
  const either = effect as Either.Either<A, E>
  return Either.isRight(either) ? Exit.succeed(either.right) : Exit.fail(either.left)
}

export const flatMap = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  then: (value: A) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E | E2, R | R2> => {
  const result = resultOf(effect)
  if (result === undefined) return Effect.flatMap(effect, then)
  return Exit.isSuccess(result) ? then(result.value) : Exit.failCause(result.cause)
}

export const map = <A, E, R, B>(effect: Effect.Effect<A, E, R>, change: (value: A) => B): Effect.Effect<B, E, R> => {
  const result = resultOf(effect)
  if (result === undefined) return Effect.map(effect, change)
  return Exit.isSuccess(result) ? Exit.succeed(change(result.value)) : Exit.failCause(result.cause)
}

/** For failures, which are no part of a fast path: `recover` always runs in Effect's run loop. */
export const catchAll = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  recover: (error: E) => Effect.Effect<B, E2, R2>
): Effect.Effect<A | B, E2, R | R2> => {
  const result = resultOf(effect)
  return result !== undefined && Exit.isSuccess(result) ? Exit.succeed(result.value) : Effect.catchAll(effect, recover)
}

/** As `catchAll`. */
export const tapError = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  look: (error: E) => Effect.Effect<B, E2, R2>
): Effect.Effect<A, E | E2, R | R2> => {
  const result = resultOf(effect)
  return result !== undefined && Exit.isSuccess(result) ? result : Effect.tapError(effect, look)
}
