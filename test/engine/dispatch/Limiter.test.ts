import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer } from "effect"
import { WebhookId } from "../../../src/domain/Id.ts"
import { TeamName } from "../../../src/domain/Team.ts"
import { Limiter, type SlotRequest } from "../../../src/engine/dispatch/Limiter.ts"
import { Settings } from "../../../src/engine/Settings.ts"

const webhook = (n: number) => WebhookId.make(`00000000-0000-7000-8000-${String(n).padStart(12, "0")}`)
const [a, b] = [webhook(1), webhook(2)] as const

const withLimit = (maxConcurrent: number) =>
  Effect.provide(Layer.provide(Limiter.layer, Settings.layer({ maxConcurrent })))

/** A request of a webhook whose team is its own. */
const request = (id: WebhookId, maxConcurrent?: number, team: string = `team-${id.slice(-1)}`): SlotRequest => ({
  webhook: id,
  team: TeamName.make(team),
  maxConcurrent
})

const inFlight = Effect.flatMap(Limiter, (limiter) => Effect.map(limiter.usage, ({ total }) => total))

describe("Limiter", () => {
  it.effect("gives out no more slots than the global limit, and the next one when one is given back", () =>
    Effect.gen(function* () {
      const limiter = yield* Limiter
      expect(limiter.tryAcquire(request(a))).toBe(true)
      expect(limiter.tryAcquire(request(b))).toBe(true)
      expect(limiter.tryAcquire(request(webhook(3)))).toBe(false)
      limiter.release(request(a))
      expect(limiter.tryAcquire(request(webhook(3)))).toBe(true)
      expect(yield* inFlight).toBe(2)
    }).pipe(withLimit(2))
  )

  it.effect("keeps a webhook to its own limit while others get slots", () =>
    Effect.gen(function* () {
      const limiter = yield* Limiter
      expect(limiter.tryAcquire(request(a, 1))).toBe(true)
      expect(limiter.tryAcquire(request(a, 1))).toBe(false)
      expect(limiter.tryAcquire(request(b))).toBe(true)
    }).pipe(withLimit(5))
  )

  it.effect("lets a webhook whose own limit is higher than the global one reach it, over several teams", () =>
    Effect.gen(function* () {
      const limiter = yield* Limiter
      const granted = [1, 2, 3, 4, 5, 6].filter((n) => limiter.tryAcquire(request(a, 5, `team-${n}`)))
      expect(granted).toEqual([1, 2, 3, 4, 5])
      expect(limiter.tryAcquire(request(b))).toBe(false)
    }).pipe(withLimit(3))
  )

  it.effect("follows an edited limit with the next request", () =>
    Effect.gen(function* () {
      const limiter = yield* Limiter
      limiter.tryAcquire(request(a, 1, "one"))
      expect(limiter.tryAcquire(request(a, 2, "two"))).toBe(true)
      limiter.release(request(a, 2, "two"))
      expect(limiter.tryAcquire(request(a, 1, "two"))).toBe(false)
    }).pipe(withLimit(5))
  )

  it.effect("counts a run that was in flight before, even beyond the limit", () =>
    Effect.gen(function* () {
      const limiter = yield* Limiter
      limiter.hold(request(a, 1))
      limiter.hold(request(a, 1))
      expect(yield* inFlight).toBe(2)
      limiter.release(request(a, 1))
      expect(limiter.tryAcquire(request(a, 1))).toBe(false)
      limiter.release(request(a, 1))
      expect(limiter.tryAcquire(request(a, 1))).toBe(true)
    }).pipe(withLimit(1))
  )

  it.effect("leaves at least half of the slots to other teams, however many one team asks for", () =>
    Effect.gen(function* () {
      const limiter = yield* Limiter
      const greedy = Array.from({ length: 20 }, () => limiter.tryAcquire(request(a, undefined, "greedy")))
      expect(greedy.filter((granted) => granted)).toHaveLength(11)
      const others = Array.from({ length: 9 }, (_, n) => limiter.tryAcquire(request(b, undefined, `other-${n}`)))
      expect(others).toEqual(others.map(() => true))
    }).pipe(withLimit(20))
  )

  it.effect("lets ten teams have two slots each of twenty", () =>
    Effect.gen(function* () {
      const limiter = yield* Limiter
      const teams = Array.from({ length: 10 }, (_, n) => `team-${n}`)
      const granted = [...teams, ...teams].map((team) => limiter.tryAcquire(request(a, undefined, team)))
      expect(granted).toEqual(granted.map(() => true))
      expect(limiter.tryAcquire(request(b, undefined, "eleventh"))).toBe(false)
    }).pipe(withLimit(20))
  )
})

type Action =
  | { readonly _tag: "acquire"; readonly webhook: number; readonly team: number; readonly own: number | undefined }
  | { readonly _tag: "release"; readonly held: number }

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      _tag: fc.constant("acquire" as const),
      webhook: fc.nat(2),
      team: fc.nat(4),
      own: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined })
    })
  },
  { weight: 2, arbitrary: fc.record({ _tag: fc.constant("release" as const), held: fc.nat(30) }) }
)

it.effect.prop(
  "never grants past a limit, never refuses a team's first slot that is free, and is full when no run without an own limit fits",
  { actions: fc.array(action, { maxLength: 80 }), globalLimit: fc.integer({ min: 1, max: 6 }) },
  ({ actions, globalLimit }) =>
    Effect.gen(function* () {
      const limiter = yield* Limiter
      const held: Array<SlotRequest> = []
      for (const action of actions) {
        if (action._tag === "release") {
          const [released] = held.splice(action.held % Math.max(1, held.length), 1)
          if (released) limiter.release(released)
        } else {
          const asked = request(webhook(action.webhook), action.own, `team-${action.team}`)
          const own = action.own ?? globalLimit
          const ofWebhook = held.filter(({ webhook }) => webhook === asked.webhook).length
          const isFirst = !held.some(({ team }) => team === asked.team)
          const fits = ofWebhook < own && held.length < Math.max(globalLimit, own)
          const granted = limiter.tryAcquire(asked)
          if (granted) held.push(asked)
          expect(granted && !fits).toBe(false)
          if (isFirst) expect(granted).toBe(fits)
        }
        expect(limiter.isFull()).toBe(held.length >= globalLimit)
        const { byWebhook, total } = yield* limiter.usage
        expect(total).toBe(held.length)
        for (const [id, count] of byWebhook) expect(held.filter((one) => one.webhook === id)).toHaveLength(count)
      }
      for (const one of held) limiter.release(one)
      expect(yield* limiter.usage).toEqual({ total: 0, byWebhook: new Map() })
    }).pipe(withLimit(globalLimit))
)
