/** Servers whose own clocks are wrong, or are set while they run. */

import { Clock, Context, DateTime, Duration, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { Unavailable } from "../../../src/domain/Errors.ts"
import * as DatabaseClock from "../../../src/engine/upkeep/DatabaseClock.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { TimeStore } from "../../../src/repo/TimeStore.ts"
import { stopwatch } from "../../../src/runtime/Stopwatch.ts"
import { advance } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { engine, lead, makeTeam, makeWebhook, ports } from "../Scenario.ts"

const hour = 3_600_000

/** A clock that shows another time than the one it is made from, and can be set; durations are the same. */
const settable = Effect.map(Clock.Clock, (clock) => {
  let ahead = 0
  const shown = () => clock.currentTimeMillisUnsafe() + ahead
  const wrong: Clock.Clock = {
    currentTimeMillisUnsafe: shown,
    currentTimeMillis: Effect.sync(shown),
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
    currentTimeNanos: clock.currentTimeNanos,
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
  return { clock: wrong, set: (millis: number) => (ahead = millis) }
})

describe("the database's clock", () => {
  /** A database whose answers take two seconds. */
  const slowDatabase = Layer.effect(
    TimeStore,
    Effect.map(Clock.Clock, (clock) => ({
      databaseTime: Effect.delay(
        Effect.sync(() => clock.currentTimeMillisUnsafe()),
        "1 second"
      ).pipe(Effect.tap(Effect.sleep("1 second")))
    }))
  )

  it.effect(
    "counts, whatever the server's own is set to, and is corrected only as far as that is certain",
    function* () {
      const own = yield* settable
      own.set(hour)
      const database = yield* Layer.build(slowDatabase)
      const building = yield* Layer.build(Layer.provide(DatabaseClock.layer, Layer.succeedContext(database))).pipe(
        Effect.provideService(Clock.Clock, own.clock),
        Effect.forkChild
      )
      yield* TestClock.adjust("2 seconds")
      const built = yield* Fiber.join(building)
      const clock = Context.get(built, Clock.Clock)
      const { millis } = Context.get(built, DatabaseClock.ClockOffset)
      const wrongBy = Effect.map(Clock.currentTimeMillis, (now) => clock.currentTimeMillisUnsafe() - now)
      expect(yield* wrongBy).toBe(1_000)
      expect(millis()).toBe(hour - 1_000)
      const began = stopwatch(clock)
      own.set(-hour)
      expect(yield* wrongBy).toBe(1_000)
      expect(millis()).toBe(-hour - 1_000)
      yield* TestClock.adjust("1 minute")
      expect(yield* wrongBy).toBe(1_000)
      expect(stopwatch(clock) - began).toBe(60_000)
    }
  )

  it.effect("is compared again after the database was out of reach, and a difference is warned of once", function* () {
    const lines: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => lines.push(`${logLevel} ${message}`))
    const own = yield* settable
    const clock = yield* Clock.Clock
    let isAway = true
    const database = Layer.succeed(TimeStore, {
      databaseTime: Effect.suspend(() =>
        isAway ? new Unavailable({ what: "database", detail: "away" }) : Effect.succeed(clock.currentTimeMillisUnsafe())
      )
    })
    const building = yield* Layer.build(Layer.provide(DatabaseClock.layer, database)).pipe(
      Effect.provideService(Clock.Clock, own.clock),
      Effect.provide(Logger.layer([logger])),
      Effect.forkChild
    )
    yield* TestClock.adjust("10 seconds")
    isAway = false
    yield* TestClock.adjust("2 seconds")
    yield* Fiber.join(building)
    expect(lines.splice(0)).toEqual(["Warn the start waits for the database: away; trying again until it works"])
    own.set(hour)
    yield* TestClock.adjust("1 minute")
    expect(lines).toEqual([expect.stringMatching(/^Warn This server's clock is 3600\.0 s ahead of the database's/)])
    own.set(-2_000)
    yield* TestClock.adjust("1 minute")
    own.set(0)
    yield* TestClock.adjust("1 minute")
    expect(lines.slice(1)).toEqual(["Info This server's clock agrees with the database's again"])
  })
})

/** A clock on a database whose clock can be set. */
const onSettable = Effect.gen(function* () {
  const [own, database, real] = [yield* settable, yield* settable, yield* Clock.Clock]
  const time = Layer.succeed(TimeStore, { databaseTime: Effect.sync(() => database.clock.currentTimeMillisUnsafe()) })
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => lines.push(String(message)))
  const clock = yield* Layer.build(
    Layer.effect(BuiltClock, Clock.Clock).pipe(Layer.provide(DatabaseClock.layer), Layer.provide(time))
  ).pipe(Effect.provideService(Clock.Clock, own.clock), Effect.provide(Logger.layer([logger])))
  const wrongBy = () => Context.get(clock, BuiltClock).currentTimeMillisUnsafe() - real.currentTimeMillisUnsafe()
  return { own, database, lines, wrongBy }
})

class BuiltClock extends Context.Service<BuiltClock, Clock.Clock>()("test/Clock") {}

describe("a database's clock that is set while the server runs", () => {
  for (const by of [hour, -hour]) {
    it.effect(`is followed slowly, so that no deadline passes because of it (by ${by} ms)`, function* () {
      const { database, lines, wrongBy } = yield* onSettable
      expect(wrongBy()).toBe(0)
      database.set(by)
      yield* TestClock.adjust("1 minute")
      expect(wrongBy()).toBe(Math.sign(by) * 6_000)
      expect(lines).toEqual([
        expect.stringMatching(/^The database's clock was set 3599\.5 s (forward|back)/),
        expect.anything()
      ])
      database.set(0)
      yield* TestClock.adjust("1 minute")
      expect(wrongBy()).toBe(0)
    })
  }

  it.effect("is followed at once if the server's own clock changed as much: the machine was asleep", function* () {
    const { database, own, wrongBy } = yield* onSettable
    database.set(hour)
    own.set(hour)
    yield* TestClock.adjust("5 seconds")
    expect(wrongBy()).toBe(hour)
  })
})

/** One more engine on these ports, whose clock may be wrong and is not the test's; what it runs on ends with the scope. */
const engineOn = (context: Context.Context<Layer.Success<typeof ports>>, clock: Clock.Clock) =>
  Layer.build(
    engine().pipe(Layer.provideMerge(DatabaseClock.layer), Layer.provideMerge(Layer.succeedContext(context)))
  ).pipe(Effect.map(Context.omit(Clock.Clock)), Effect.provideService(Clock.Clock, clock))

describe("two servers on one database", () => {
  for (const [how, before, during] of [
    ["an hour ahead", hour, hour],
    ["an hour behind", -hour, -hour],
    ["set forward while it runs", 0, hour],
    ["set back while it runs", 0, -hour]
  ] as const) {
    it.effect(
      `agree on deadlines and on what is late while the clock of the server of the ticks is ${how}`,
      function* () {
        const own = yield* settable
        own.set(before)
        const shared = yield* Layer.build(ports)
        // It is there first, so it does the work of each second.
        yield* engineOn(shared, own.clock)
        const repo = yield* Effect.provide(Repo, shared)
        const other = yield* engineOn(shared, yield* Clock.Clock)
        yield* Effect.gen(function* () {
          const team = yield* makeTeam("deploy")
          const leader = yield* lead(team)
          const webhook = yield* makeWebhook(team, { timeout_seconds: 5 })
          own.set(during)

          const asking = yield* Effect.forkChild(webhook.ask("first"))
          yield* leader.next
          yield* advance("4 seconds")
          yield* leader.answer("done")
          const first = yield* Fiber.join(asking)
          expect(first.status).toBe("success")
          expect(first.duration_ms).toBe(4_000)

          const submitted = yield* webhook.submit("second")
          yield* leader.next
          yield* advance("4 seconds")
          expect((yield* repo.run(submitted)).status).toBe("running")
          yield* advance("3 seconds")
          const second = yield* repo.run(submitted)
          expect(second.status).toBe("timeout")
          const moments = [second.accepted_at, second.sent_at, second.started_at, second.finished_at]
          for (const moment of moments) {
            expect(Math.abs(Duration.toSeconds(DateTime.distance(second.accepted_at, moment!)))).toBeLessThanOrEqual(7)
          }

          yield* leader.answer("late")
          const third = yield* webhook.submit("third")
          expect((yield* leader.next).prompt.run_id).toBe(third)
        }).pipe(Effect.provide(other))
      }
    )
  }
})
