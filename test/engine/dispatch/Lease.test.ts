import { describe, expect, it } from "@effect/vitest"
import { type Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Option, Queue, Scope } from "effect"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { whileHeld } from "../../../src/engine/dispatch/Lease.ts"
import { LeaseLost, LeaseStore, type Term } from "../../../src/repo/run/LeaseStore.ts"
import { advance } from "../../../src/testing.ts"
import { engine, lead, makeTeam, makeWebhook, ports } from "../Scenario.ts"

type Store = Context.Tag.Service<typeof LeaseStore>

/** The engine on ports in memory, with another store of the lease. */
const engineWith = (change: (store: Store) => Partial<Store>) =>
  engine().pipe(
    Layer.provideMerge(
      Layer.effect(
        LeaseStore,
        Effect.map(LeaseStore, (store) => ({ ...store, ...change(store) }))
      )
    ),
    Layer.provideMerge(ports)
  )

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
    yield* advance("2 seconds")
    yield* Deferred.await(isReleasing)
    const stopping = yield* Effect.fork(Scope.close(scope, Exit.void))
    yield* Effect.repeatN(Effect.yieldNow(), 100)
    yield* Deferred.succeed(mayRelease, undefined)
    yield* Fiber.join(stopping)
    expect(terms).toBe(1)
  })
)

it.scoped("sends nothing without asking the database once the lock is gone that the lease ends with", () =>
  Effect.gen(function* () {
    const askedAgain = yield* Deferred.make<void>()
    let isGone = false
    const store = (store: Store): Partial<Store> => ({
      lockForProcess: (id) => Effect.succeed({ id, isHeld: () => !isGone }),
      renewLease: (...args) => (isGone ? Effect.fail(new LeaseLost()) : store.renewLease(...args)),
      acquireLease: (...args) =>
        isGone ? Effect.as(Deferred.succeed(askedAgain, undefined), Option.none()) : store.acquireLease(...args)
    })
    yield* Effect.gen(function* () {
      const team = yield* makeTeam("deploy")
      const leader = yield* lead(team)
      const webhook = yield* makeWebhook(team)
      yield* webhook.submit("first")
      yield* leader.next
      isGone = true
      yield* webhook.submit("second")
      yield* Deferred.await(askedAgain)
      yield* leader.answer("done")
      expect(yield* leader.idle).toBe(true)
    }).pipe(Effect.provide(engineWith(store)))
  })
)

describe("another process takes the lease", () => {
  /** Holds the lease with this store, as the dispatcher does; completed when it gets it. */
  const holder = (store: Store) =>
    Effect.gen(function* () {
      const isHolding = yield* Deferred.make<void>()
      const held = whileHeld((lease) => Effect.zipRight(Deferred.succeed(isHolding, undefined), lease.keep))
      yield* Effect.forkScoped(Effect.provideService(held, LeaseStore, store))
      return isHolding
    })

  const inSteps = (steps: number, until: () => boolean = () => false) =>
    Effect.iterate(0, {
      while: (step) => step < steps && !until(),
      body: (step) => Effect.as(advance("100 millis"), step + 1)
    })

  it.scoped("within 3 s when its holder is frozen just after it has renewed it", () =>
    Effect.gen(function* () {
      const store = yield* LeaseStore
      let isFrozen = false
      let renewals = 0
      const first = yield* holder({
        ...store,
        renewLease: (...args) =>
          isFrozen ? Effect.never : Effect.tap(store.renewLease(...args), () => Effect.sync(() => renewals++))
      })
      yield* Deferred.await(first)
      const second = yield* holder(store)
      yield* inSteps(50)
      expect(yield* Deferred.isDone(second)).toBe(false)
      const before = renewals
      yield* inSteps(50, () => renewals > before)
      isFrozen = true
      yield* inSteps(30)
      expect(yield* Deferred.isDone(second)).toBe(true)
    }).pipe(Effect.provide(ports))
  )

  it.scoped("within 300 ms when the lock is gone that the lease ends with", () =>
    Effect.gen(function* () {
      const store = yield* LeaseStore
      let isGone = false
      const first = yield* holder({ ...store, renewLease: () => (isGone ? Effect.never : Effect.void) })
      yield* Deferred.await(first)
      const second = yield* holder({
        ...store,
        acquireLease: (name, life) =>
          isGone ? Effect.succeedSome(2) : store.acquireLease(name, life, Duration.hours(1)),
        renewLease: () => Effect.void
      })
      yield* inSteps(50)
      expect(yield* Deferred.isDone(second)).toBe(false)
      isGone = true
      yield* inSteps(3)
      expect(yield* Deferred.isDone(second)).toBe(true)
    }).pipe(Effect.provide(ports))
  )
})

it.scoped("leaves the lease to its holder for a moment when the database is back", () =>
  Effect.gen(function* () {
    const asked = yield* Queue.unbounded<Duration.Duration | undefined>()
    const unavailable = new Unavailable({ what: "database", detail: "away" })
    let isAway = true
    const acquireLease: Store["acquireLease"] = (_holder, _life, overdue) =>
      Effect.flatMap(asked.offer(overdue), () => (isAway ? Effect.fail(unavailable) : Effect.succeedNone))
    yield* Layer.build(engineWith(() => ({ acquireLease })))
    expect(yield* asked.take).toBeUndefined()
    isAway = false
    yield* advance("250 millis")
    expect(Duration.toMillis((yield* asked.take)!)).toBeGreaterThan(5_000)
    yield* advance("500 millis")
    expect(yield* asked.size).toBe(0)
    yield* advance("100 millis")
    expect(yield* asked.take).toBeUndefined()
  })
)

it.scoped("gives up a lease that is lost in the next term, too, and obtains it again", () =>
  Effect.gen(function* () {
    const terms: Array<Term> = []
    const isAgain = yield* Deferred.make<void>()
    yield* Effect.fork(
      whileHeld((lease) =>
        lease.inTerm((term) => {
          if (terms.push(term) > 2) return Effect.zipRight(Deferred.succeed(isAgain, undefined), Effect.never)
          return Effect.zipRight(Effect.orDie(terms.length === 1 ? lease.nextTerm : Effect.void), new LeaseLost())
        })
      )
    )
    yield* Deferred.await(isAgain)
    expect(terms).toEqual([terms[0]!, terms[0]! + 1, terms[0]! + 2])
  }).pipe(Effect.provide(ports))
)
