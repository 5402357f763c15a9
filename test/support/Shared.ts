import { afterAll, beforeAll } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"

/** What all tests of a file share: it is made before the first of them, and ends after the last. */
export const shared = <A, E>(make: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A> => {
  const scope = Effect.runSync(Scope.make())
  let made: A
  beforeAll(async () => {
    made = await Effect.runPromise(Scope.provide(make, scope))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.sync(() => made)
}
