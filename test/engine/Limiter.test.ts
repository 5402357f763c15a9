import { expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, FastCheck as fc, Layer, Scope } from "effect"
import { WebhookId } from "../../src/domain/Id.ts"
import { Limiter } from "../../src/engine/Limiter.ts"
import { Settings } from "../../src/engine/Settings.ts"

const webhook = (n: number) => WebhookId.make(`00000000-0000-7000-8000-${String(n).padStart(12, "0")}`)
const [a, b, c] = [webhook(1), webhook(2), webhook(3)] as const

const withLimit = (maxConcurrent: number) =>
  Effect.provide(Layer.provide(Limiter.layer, Settings.layer({ maxConcurrent })))

/** Fibers that were woken have run on; nothing here waits for time. */
const settled = Effect.repeatN(Effect.yieldNow(), 10)

/** Asks for a slot and goes on; `land` gives it back, `giveUp` does so whether it has one yet or not. */
const depart = (id: WebhookId, own?: number) =>
  Effect.gen(function* () {
    const limiter = yield* Limiter
    const scope = yield* Scope.make()
    const fiber = yield* Effect.fork(Scope.extend(limiter.acquire(id, own), scope))
    yield* settled
    return {
      flying: Effect.map(Effect.zipRight(settled, Fiber.poll(fiber)), (exit) => exit._tag === "Some"),
      giveUp: Effect.zipRight(Fiber.interrupt(fiber), Scope.close(scope, Exit.void)),
      land: Scope.close(scope, Exit.void)
    }
  })

const inFlight = Effect.flatMap(Limiter, (limiter) => Effect.map(limiter.usage, ({ total }) => total))

it.effect("lets no more runs fly than the global limit, and the next one when one lands", () =>
  Effect.gen(function* () {
    const first = yield* depart(a)
    yield* depart(b)
    const third = yield* depart(c)
    expect(yield* third.flying).toBe(false)
    expect(yield* inFlight).toBe(2)
    yield* first.land
    expect(yield* third.flying).toBe(true)
    expect(yield* inFlight).toBe(2)
  }).pipe(withLimit(2))
)

it.effect("keeps a webhook to its own limit while others fly", () =>
  Effect.gen(function* () {
    yield* depart(a, 1)
    const second = yield* depart(a, 1)
    const other = yield* depart(b)
    expect(yield* second.flying).toBe(false)
    expect(yield* other.flying).toBe(true)
  }).pipe(withLimit(5))
)

it.effect("lets a webhook whose own limit is higher than the global one reach it", () =>
  Effect.gen(function* () {
    const flights = yield* Effect.replicateEffect(depart(a, 5), 6)
    const flying = yield* Effect.filter(flights, (flight) => flight.flying)
    expect(flying).toHaveLength(5)
    expect(yield* (yield* depart(b)).flying).toBe(false)
  }).pipe(withLimit(3))
)

it.effect("heeds an edited limit at once, for those who wait", () =>
  Effect.gen(function* () {
    const limiter = yield* Limiter
    yield* depart(a, 1)
    const second = yield* depart(a, 1)
    yield* limiter.setLimit(a, 2)
    expect(yield* second.flying).toBe(true)
    yield* limiter.setLimit(a, 1)
    yield* second.land
    expect(yield* (yield* depart(a, 1)).flying).toBe(false)
  }).pipe(withLimit(5))
)

it.effect("goes back to the global limit when a webhook's own is removed", () =>
  Effect.gen(function* () {
    const limiter = yield* Limiter
    yield* depart(a, 1)
    const second = yield* depart(a, 1)
    yield* limiter.setLimit(a, undefined)
    expect(yield* second.flying).toBe(true)
  }).pipe(withLimit(2))
)

it.effect("forgets one who gave up waiting, and gives back a slot granted to one who just gave up", () =>
  Effect.gen(function* () {
    const first = yield* depart(a)
    const second = yield* depart(b)
    const third = yield* depart(c)
    yield* second.giveUp
    yield* first.land
    expect(yield* third.flying).toBe(true)
    yield* third.land
    expect(yield* inFlight).toBe(0)
  }).pipe(withLimit(1))
)

it.effect("gives a slot at once or not at all to who does not want to wait", () =>
  Effect.gen(function* () {
    const limiter = yield* Limiter
    const scope = yield* Scope.make()
    expect(yield* Scope.extend(limiter.acquireNow(a, 1), scope)).toBe(true)
    expect(yield* Effect.scoped(limiter.acquireNow(a, 1))).toBe(false)
    expect(yield* inFlight).toBe(1)
    yield* Scope.close(scope, Exit.void)
    expect(yield* inFlight).toBe(0)
    expect(yield* limiter.webhooks).toEqual([])
  }).pipe(withLimit(5))
)

it.effect("counts a run that was in flight before, even beyond the limit", () =>
  Effect.gen(function* () {
    const limiter = yield* Limiter
    const scope = yield* Scope.make()
    yield* Scope.extend(Effect.zipRight(limiter.hold(a, 1), limiter.hold(a, 1)), scope)
    const next = yield* depart(a, 1)
    expect(yield* inFlight).toBe(2)
    expect(yield* next.flying).toBe(false)
    yield* Scope.close(scope, Exit.void)
    expect(yield* next.flying).toBe(true)
  }).pipe(withLimit(1))
)

type Step =
  | { readonly _tag: "depart"; readonly webhook: number }
  | { readonly _tag: "leave"; readonly flight: number }
  | { readonly _tag: "limit"; readonly webhook: number; readonly limit: number | undefined }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ _tag: fc.constant("depart" as const), webhook: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ _tag: fc.constant("leave" as const), flight: fc.nat(30) }) },
  fc.record({
    _tag: fc.constant("limit" as const),
    webhook: fc.nat(2),
    limit: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined })
  })
)

it.effect.prop(
  "never admits past a limit, never leaves a slot unused that somebody who waits could have",
  { steps: fc.array(step, { maxLength: 60 }), globalLimit: fc.integer({ min: 1, max: 4 }) },
  ({ steps, globalLimit }) =>
    Effect.gen(function* () {
      const limiter = yield* Limiter
      const own: Array<number | undefined> = [undefined, undefined, undefined]
      const flights: Array<{ webhook: number; flight: Effect.Effect.Success<ReturnType<typeof depart>> }> = []
      const limitOf = (n: number) => own[n] ?? globalLimit

      for (const step of steps) {
        const before = yield* limiter.usage
        if (step._tag === "depart") {
          flights.push({ webhook: step.webhook, flight: yield* depart(webhook(step.webhook), own[step.webhook]) })
        } else if (step._tag === "limit") {
          own[step.webhook] = step.limit
          yield* limiter.setLimit(webhook(step.webhook), step.limit)
        } else {
          const [gone] = flights.splice(step.flight % Math.max(1, flights.length), 1)
          if (gone) yield* gone.flight.giveUp
        }
        const after = yield* limiter.usage
        const flying = yield* Effect.filter(flights, ({ flight }) => flight.flying)
        expect(after.total).toBe(flying.length)
        for (const n of [0, 1, 2]) {
          const count = flying.filter((one) => one.webhook === n).length
          expect(after.byWebhook.get(webhook(n)) ?? 0).toBe(count)
          // A limit that was lowered may be exceeded by those in flight, but nobody is added.
          const grew = count > (before.byWebhook.get(webhook(n)) ?? 0)
          if (grew) {
            expect(count).toBeLessThanOrEqual(limitOf(n))
            expect(after.total).toBeLessThanOrEqual(Math.max(globalLimit, ...own.map((limit) => limit ?? 0)))
          }
          const waits =
            flights.length > flying.length && flights.some((one) => one.webhook === n && !flying.includes(one))
          if (waits) expect(count >= limitOf(n) || after.total >= Math.max(globalLimit, limitOf(n))).toBe(true)
        }
      }
      for (const { flight } of flights) yield* flight.giveUp
      expect(yield* inFlight).toBe(0)
    }).pipe(withLimit(globalLimit), Effect.scoped)
)
