/** `@effect/vitest`, whose tests may be written as generators, like `Effect.gen`: `it.live("…", function* () { … })`. */
import { type TestContext, type Vitest, it as vitestIt } from "@effect/vitest"
import { Effect, type Layer, type Scope } from "effect"

export * from "@effect/vitest"

/** What a test does, on these services. */
export type Body<R> = () => Generator<Effect.Effect<any, any, R>, unknown, never>

type Declare<R> = (name: string, body: Body<R>) => void

const withBodies = (tester: Vitest.Tester<Scope.Scope>): Vitest.Tester<Scope.Scope> & Declare<Scope.Scope> =>
  Object.assign(
    (name: string, body: (context: TestContext) => any, options?: any) =>
      tester(
        name,
        (context) => {
          const made = body(context)
          return Effect.isEffect(made) ? made : Effect.gen(() => made)
        },
        options
      ),
    tester
  )

const own = { effect: withBodies(vitestIt.effect), live: withBodies(vitestIt.live) }

export const it = new Proxy(vitestIt, {
  get: (tester, key) => (key === "effect" || key === "live" ? own[key] : Reflect.get(tester, key))
}) as typeof vitestIt & typeof own

/** Declares tests with a test's clock, each of which builds the layer for itself. */
export const on =
  <A, E>(layer: Layer.Layer<A, E>): Declare<A | Scope.Scope> =>
  (name, body) =>
    it.effect(name, () => Effect.provide(Effect.gen(body), layer))
