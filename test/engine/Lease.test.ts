import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope, TestClock } from "effect"
import { LeaseLost, LeaseStore } from "../../src/repo/LeaseStore.ts"
import { engine, ports } from "./Scenario.ts"

it.scoped("stops also while the lease is being given back that another process has taken", () =>
  Effect.gen(function* () {
    const isReleasing = yield* Deferred.make<void>()
    const mayRelease = yield* Deferred.make<void>()
    let terms = 0
    const taken = Layer.effect(
      LeaseStore,
      Effect.map(LeaseStore, (store) => ({
        ...store,
        acquireLease: (...args: Parameters<typeof store.acquireLease>) =>
          Effect.tap(store.acquireLease(...args), () => Effect.sync(() => terms++)),
        renewLease: () => Effect.fail(new LeaseLost()),
        releaseLease: () => Effect.zipRight(Deferred.succeed(isReleasing, undefined), Deferred.await(mayRelease))
      }))
    )
    const scope = yield* Scope.make()
    yield* Layer.buildWithScope(engine().pipe(Layer.provide(Layer.provideMerge(taken, ports))), scope)
    yield* TestClock.adjust("2 seconds")
    yield* Deferred.await(isReleasing)
    const stopping = yield* Effect.fork(Scope.close(scope, Exit.void))
    yield* Effect.repeatN(Effect.yieldNow(), 100)
    yield* Deferred.succeed(mayRelease, undefined)
    yield* Fiber.join(stopping)
    expect(terms).toBe(1)
  })
)
