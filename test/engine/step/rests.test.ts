/** Usage limits of agents: the run goes back to the head of its lane, and its team rests. */

import { expect } from "@effect/vitest"
import { DateTime, Effect, Exit, Layer, Scope } from "effect"
import type { Delivery } from "../../../src/bus/Bus.ts"
import { LeaderBus } from "../../../src/bus/Bus.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import type { TeamName } from "../../../src/domain/Team.ts"
import { Cancellation } from "../../../src/engine/manage/Cancellation.ts"
import { Teams } from "../../../src/engine/manage/Teams.ts"
import { Leader } from "../../../src/leader/index.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import {
  engine,
  inFlight,
  lead,
  makeTeam,
  makeWebhook,
  onEngine,
  onEngineWith,
  onPorts,
  statusOf,
  until,
  waiting
} from "../Scenario.ts"

const reason = "You've hit your limit · resets 2pm"

const restsUntil = (team: TeamName) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.team(team)),
    ({ resting_until }) => resting_until
  )
const untilItRests = (team: TeamName) => until(Effect.map(restsUntil(team), (until) => until !== undefined))
const resume = (team: TeamName) => Effect.flatMap(Teams, (teams) => teams.resume(team))
const later = (millis: number) => Effect.map(DateTime.now, (now) => DateTime.add(now, { milliseconds: millis }))

/** Leads the team with our own leader: its agent has a limit until that time, and otherwise answers. Returns what it was given. */
const limitedLeader = (team: TeamName, end: DateTime.Utc) =>
  Effect.gen(function* () {
    const given: Array<string> = []
    yield* Leader.start({
      team,
      handler: ({ prompt }) =>
        Effect.flatMap(DateTime.now, (now) => {
          given.push(prompt)
          return DateTime.isLessThan(now, end)
            ? new Leader.LeaderError({ message: reason, limited: { until: end } })
            : Effect.succeed(`done: ${prompt}`)
        })
    })
    return given
  })

onEngine(
  "of twenty queued runs, none ends and one is tried while the limit lasts, and all succeed in order after it",
  function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team, { retries: { max_retries: 3, backoff_seconds: 1 } })
    const given = yield* limitedLeader(team, yield* later(40_000))
    const texts = Array.from({ length: 20 }, (_, n) => `${n}`)
    const ids = yield* Effect.forEach(texts, (text) => webhook.submit(text))
    yield* untilItRests(team)
    yield* advance("38 seconds")
    expect(yield* Effect.forEach(ids, statusOf)).toEqual(ids.map(() => "queued"))
    expect(given).toEqual(["0"])
    expect([yield* waiting(team), yield* inFlight]).toEqual([0, 0])

    yield* advance("4 seconds")
    yield* until(Effect.map(Effect.forEach(ids, statusOf), (all) => all.every((status) => status === "success")))
    expect(given).toEqual(["0", ...texts])
    const runs = yield* Effect.forEach(ids, (id) => Effect.flatMap(Repo, (repo) => repo.run(id)))
    expect(runs.map(({ rests }) => rests)).toEqual([1, ...texts.slice(1).map(() => undefined)])
    expect(runs.map(({ attempt, retried_by }) => [attempt, retried_by])).toEqual(runs.map(() => [1, undefined]))
  }
)

onEngineWith({ maxConcurrent: 1 })("the slot is free for other teams at once", function* () {
  const [limited, other] = [yield* makeTeam("limited"), yield* makeTeam("other")]
  const [first, second] = [yield* makeWebhook(limited), yield* makeWebhook(other)]
  const [leader, works] = [yield* lead(limited), yield* lead(other)]
  yield* first.submit("1")
  yield* leader.next
  yield* second.submit("2")
  expect(yield* works.idle).toBe(true)
  yield* leader.limit(reason)
  expect((yield* works.next).text).toBe("2")
})

onEngine(
  "a run that is cancelled while its team rests is not sent again, nor one that was cancelled before the reply",
  function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team)
    const leader = yield* lead(team)
    const cancellation = yield* Cancellation
    const id = yield* webhook.submit("1")
    yield* leader.next
    yield* leader.limit(reason)
    yield* untilItRests(team)
    yield* cancellation.cancel(id)
    expect(yield* statusOf(id)).toBe("cancelled")

    yield* resume(team)
    const next = yield* webhook.submit("2")
    yield* leader.next
    yield* cancellation.cancel(next)
    const last = yield* webhook.submit("3")
    yield* leader.limit(reason, yield* later(20_000))
    yield* until(Effect.map(inFlight, (out) => out === 0))
    expect([yield* statusOf(next), yield* statusOf(last)]).toEqual(["cancelled", "queued"])
    expect(yield* restsUntil(team)).toBeDefined()
    yield* advance("22 seconds")
    expect((yield* leader.next).text).toBe("3")
  }
)

onEngine(
  "a leader that gets the same prompt again repeats the limit, and works on it when the rest is over",
  function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team)
    const end = yield* later(10_000)
    // A leader whose first prompt comes twice, as after a lost connection.
    const bus = yield* LeaderBus
    const tried: Array<RunId> = []
    const repeated: Array<string> = []
    yield* Leader.start({
      team,
      handler: ({ run_id }) => {
        tried.push(run_id)
        return Effect.flatMap(DateTime.now, (now) =>
          DateTime.isLessThan(now, end)
            ? new Leader.LeaderError({ message: reason, limited: { until: end } })
            : Effect.succeed("done")
        )
      }
    }).pipe(
      Effect.provideService(
        LeaderBus,
        LeaderBus.of({
          lead: (name, handle, options) =>
            bus.lead(
              name,
              (delivery: Delivery) => {
                const again = {
                  ...delivery,
                  reply: (reply: { _tag: string }) => Effect.sync(() => repeated.push(reply._tag))
                }
                return Effect.andThen(handle(delivery), handle(again as never))
              },
              options
            )
        })
      )
    )
    const id = yield* webhook.submit("1")
    yield* untilItRests(team)
    expect([tried, repeated]).toEqual([[id], ["Failed"]])
    yield* advance("12 seconds")
    yield* until(Effect.map(statusOf(id), (status) => status === "success"))
    expect(repeated.at(-1)).toBe("Answered")
  }
)

onPorts("a server that takes over keeps the rest, and ends it in time", function* () {
  const team = yield* makeTeam("deploy")
  const first = yield* Scope.make()
  const context = yield* Scope.provide(Layer.build(engine()), first)
  const leader = yield* lead(team)
  yield* Effect.gen(function* () {
    const webhook = yield* makeWebhook(team)
    yield* webhook.submit("1")
    yield* leader.next
    yield* leader.limit(reason, yield* later(30_000))
    yield* untilItRests(team)
  }).pipe(Effect.provide(context))
  yield* Scope.close(first, Exit.void)

  yield* Effect.gen(function* () {
    yield* advance("28 seconds")
    expect([yield* leader.idle, yield* waiting(team), yield* inFlight]).toEqual([true, 0, 0])
    yield* advance("4 seconds")
    expect((yield* leader.next).text).toBe("1")
  }).pipe(Effect.provide(engine()))
})
