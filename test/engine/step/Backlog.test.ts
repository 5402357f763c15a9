import { Effect, Latch, Layer } from "effect"
import { TeamName } from "../../../src/domain/Team.ts"
import * as Backlog from "../../../src/engine/step/Backlog.ts"
import { LaneStore } from "../../../src/repo/run/LaneStore.ts"
import { advance } from "../../../src/testing.ts"
import { count, newRun, type Target } from "../../repo/contract/fixtures.ts"
import { describe, expect, it } from "../../support/It.ts"
import { randomFor } from "../../support/Random.ts"

const team = TeamName.make("ops")
const target = (id: string, max_queued: number) => ({ id, team, max_queued, version: 1 }) as unknown as Target

/** Rows that are counted exactly, and servers of which each knows only what it has counted. */
const cluster = (servers: number, maxQueued: number) =>
  Effect.gen(function* () {
    const waiting = new Map<string, number>()
    const all = () => [...waiting.values()].reduce((sum, runs) => sum + runs, 0)
    /** While it is closed, counts are made and their results are on their way. */
    const results = yield* Latch.make(true)
    const store = LaneStore.of({
      queued: (most: number, ids: ReadonlyArray<string> = []) =>
        Effect.tap(
          Effect.sync(() => ({
            all: Math.min(most, all()),
            webhooks: new Map(ids.map((id) => [id, waiting.get(id) ?? 0]))
          })),
          results.await
        )
    } as unknown as typeof LaneStore.Service)
    const backlogs = yield* Effect.forEach(count(servers), () =>
      Effect.provide(Backlog.make(maxQueued), Layer.succeed(LaneStore, store))
    )
    let counted = 0
    /** One run for the webhook at a server; it waits, unless the statement counts and finds no room. */
    const accept = (server: number, webhook: Target) =>
      Effect.gen(function* () {
        const run = yield* newRun(webhook)
        const { options, ended } = backlogs[server]!([run])
        const counts = options.countQueued || options.countQueuedOf.size > 0
        if (counts) counted++
        const isFull =
          (options.countQueued && all() >= maxQueued) ||
          (options.countQueuedOf.has(webhook.id) && (waiting.get(webhook.id) ?? 0) >= webhook.max_queued!)
        if (!isFull) waiting.set(webhook.id, (waiting.get(webhook.id) ?? 0) + 1)
        ended(() => !isFull)
        // The counting fiber's turn.
        yield* Effect.yieldNow
        return !isFull
      })
    /** What is to be counted for a group, none of which waits in the end. */
    const begin = (server: number, webhook: Target, runs: number) =>
      Effect.map(
        Effect.forEach(count(runs), () => newRun(webhook)),
        (group) => {
          const { options, ended } = backlogs[server]!(group)
          ended(() => false)
          return options
        }
      )
    return { waiting, accept, begin, results, counted: () => counted }
  })

const random = randomFor("webhooks")

describe("the backlog", () => {
  it.effect("is held exactly by one server, of a webhook and of all", function* () {
    const { waiting, accept } = yield* cluster(1, 3_000)
    const [small, large] = [target("small", 1_000), target("large", 1_000_000)]
    for (const n of count(12_000)) {
      yield* accept(0, random.pick([small, large]))
      if (n === 100) yield* advance("1 second")
    }
    expect([waiting.get("small"), waiting.get("large")]).toEqual([1_000, 2_000])
  })

  it.effect("is held exactly while a count is on its way, of a webhook and of all", function* () {
    for (const [maxQueued, max_queued] of [
      [1_000, 10],
      [10, 1_000]
    ] as const) {
      const { waiting, accept, results } = yield* cluster(1, maxQueued)
      const webhook = target("webhook", max_queued)
      yield* accept(0, webhook)
      yield* advance("1 second")
      for (const _ of count(9)) expect(yield* accept(0, webhook)).toBe(true)
      yield* results.close
      yield* advance("1 second")
      for (const _ of count(5)) expect(yield* accept(0, webhook)).toBe(false)
      yield* results.open
      for (const _ of count(5)) expect(yield* accept(0, webhook)).toBe(false)
      expect(waiting.get("webhook")).toBe(10)
    }
  })

  it.effect(
    "is held by several servers together, but for a sixteenth for each more of them, and for a second",
    function* () {
      const { waiting, accept } = yield* cluster(5, 100_000)
      const webhook = target("webhook", 1_600)
      for (const server of count(5)) yield* accept(server, webhook)
      yield* advance("1 second")
      // Each of them counts when there are five; then one after the other is triggered.
      for (const server of count(5)) for (const _ of count(3_000)) yield* accept(server, webhook)
      expect(waiting.get("webhook")).toBeGreaterThanOrEqual(1_600)
      expect(waiting.get("webhook")).toBeLessThanOrEqual(1_600 + 4 * 100)
      yield* advance("1 second")
      waiting.set("webhook", 1_599)
      for (const server of count(5)) expect(yield* accept(server, webhook)).toBe(server === 0)
    }
  )

  it.effect("is not counted for a burst that fits well, and for one that may not fit", function* () {
    const { accept, begin } = yield* cluster(1, 100_000)
    const webhook = target("webhook", 1_000)
    yield* accept(0, webhook)
    yield* advance("1 second")
    const countsFor = (runs: number) =>
      Effect.map(begin(0, webhook, runs), ({ countQueuedOf }) => countQueuedOf.size > 0)
    expect(yield* countsFor(240)).toBe(false)
    expect(yield* countsFor(260)).toBe(true)
  })

  it.effect("is rarely counted far from the limit, and again once runs have left", function* () {
    const { waiting, accept, counted } = yield* cluster(1, 100_000)
    const webhook = target("webhook", 10_000)
    yield* accept(0, webhook)
    yield* advance("1 second")
    const before = counted()
    for (const _ of count(1_000)) yield* accept(0, webhook)
    expect(counted() - before).toBeLessThan(20)
    // At the limit, everything is counted.
    waiting.set("webhook", 10_000)
    yield* advance("1 second")
    for (const _ of count(10)) expect(yield* accept(0, webhook)).toBe(false)
    waiting.set("webhook", 0)
    expect(yield* accept(0, webhook)).toBe(true)
    yield* advance("1 second")
    const after = counted()
    for (const _ of count(1_000)) yield* accept(0, webhook)
    expect(counted() - after).toBeLessThan(20)
  })

  it.effect("does not count one webhook for the queue of another, once it has been counted by itself", function* () {
    const { waiting, accept, counted } = yield* cluster(1, 1_000_000)
    waiting.set("busy", 100_000)
    const quiet = target("quiet", 1_000)
    yield* accept(0, quiet)
    yield* advance("1 second")
    const before = counted()
    for (const _ of count(100)) yield* accept(0, quiet)
    expect(counted() - before).toBeLessThan(20)
  })
})
