/** Webhooks whose triggers wait for a leader. */

import { DateTime, Duration, Effect, Exit, Layer, Scope } from "effect"
import { Bus, LeaderBus } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { describe, expect, it } from "../../support/It.ts"
import { echo, engine, inFlight, lead, makeTeam, makeWebhook, onEngine, until, waiting } from "../Scenario.ts"

const queues = { when_team_stopped: "queue" } as const
const queued = Effect.flatMap(Repo, (repo) => Effect.map(repo.queued(1_000), ({ all }) => all))

/** A server has looked for leaders again. */
const anotherSecond = advance("1 second")

describe("a webhook whose triggers wait for a leader", () => {
  onEngine(
    "accepts them while there is none, sends nothing and holds no slot, and sends them in order once there is one",
    function* () {
      const team = yield* makeTeam("deploy")
      const webhook = yield* makeWebhook(team, queues)
      for (const text of ["a", "b", "c"]) yield* webhook.submit(text)
      yield* anotherSecond
      yield* webhook.submit("d")
      yield* anotherSecond
      expect([yield* waiting(team), yield* inFlight, yield* queued]).toEqual([0, 0, 4])
      const seen = yield* echo(team)
      yield* anotherSecond
      yield* until(Effect.sync(() => seen.length === 4))
      expect(seen).toEqual(["a", "b", "c", "d"])
      // And with a leader there, at once.
      expect(yield* webhook.ask("e")).toMatchObject({ status: "success" })
      yield* webhook.submit("f")
      yield* until(Effect.sync(() => seen.length === 6))
    }
  )

  onEngine("keeps the order of its team: what was accepted later waits behind what waits for a leader", function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team, queues)
    const plain = yield* makeWebhook(team)
    const stopped = yield* Scope.make()
    const leader = yield* Scope.provide(lead(team), stopped)
    // One is with the team; the others wait in the lane when it stops.
    for (const text of ["1", "2", "3"]) yield* webhook.submit(text)
    yield* plain.submit("4")
    yield* leader.next
    yield* Scope.close(stopped, Exit.void)
    yield* anotherSecond
    expect(yield* queued).toBe(3)
    const seen = yield* echo(team)
    yield* anotherSecond
    yield* until(Effect.sync(() => seen.length === 4))
    expect(seen).toEqual(["1", "2", "3", "4"])
  })

  onEngine("ends them as team_not_running when there is none in time, by default for a day", function* () {
    const repo = yield* Repo
    const team = yield* makeTeam("deploy")
    const short = yield* makeWebhook(team, { ...queues, queue_for_seconds: 10 })
    const usual = yield* makeWebhook(team, queues)
    yield* usual.submit("a day")
    const shortly = yield* short.submit("ten seconds")
    yield* advance("9 seconds")
    expect((yield* repo.run(shortly)).status).toBe("queued")
    yield* advance("2 seconds")
    expect(yield* repo.run(shortly)).toMatchObject({ status: "error", error: { code: "team_not_running" } })
    expect(yield* queued).toBe(1)
    const ended = (at: number) =>
      Effect.map(repo.expire(DateTime.makeUnsafe(at), { stopped: [team] }), (runs) => runs.length)
    const day = Duration.toMillis("1 day")
    expect([yield* ended(day - 1), yield* ended(day)]).toEqual([0, 1])
  })

  onEngine("ends none that waits behind others of a running team", function* () {
    const repo = yield* Repo
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { ...queues, queue_for_seconds: 10, timeout_seconds: 86_400 })
    const ids = yield* Effect.forEach(["1", "2", "3", "4"], (text) => webhook.submit(text))
    yield* leader.next
    yield* advance("20 seconds")
    expect((yield* repo.run(ids[3]!)).status).toBe("queued")
    // Over such a jump of the clock, what is out is sent again: more answers than runs.
    for (let i = 0; i < 3 * ids.length; i++) yield* leader.answer("done")
    yield* until(Effect.map(repo.run(ids[3]!), ({ status }) => status === "success"))
  })

  it.effect("accepts them also while the broker is out of reach", () => {
    let isAway = true
    const away = Layer.effect(
      Bus,
      Effect.map(Bus, (bus) =>
        Bus.of({
          ...bus,
          queue: (team) =>
            Effect.suspend(() =>
              isAway ? new Unavailable({ what: "broker", detail: "It is away." }) : bus.queue(team)
            )
        })
      )
    )
    return Effect.gen(function* () {
      const team = yield* makeTeam("deploy")
      const webhook = yield* makeWebhook(team, queues)
      expect((yield* Effect.flip((yield* makeWebhook(team)).submit("a")))._tag).toBe("Unavailable")
      yield* webhook.submit("b")
      const seen = yield* echo(team)
      yield* advance("5 seconds")
      expect(seen).toEqual([])
      isAway = false
      yield* advance("10 seconds")
      yield* until(Effect.sync(() => seen.length === 1))
    }).pipe(
      Effect.provide(
        engine().pipe(
          Layer.provideMerge(
            Layer.merge(layerRepo, Layer.provideMerge(away, BusMemory.layer)) as Layer.Layer<Bus | LeaderBus | Repo>
          )
        )
      )
    )
  })
})
