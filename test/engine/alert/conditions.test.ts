import { expect } from "@effect/vitest"
import { DateTime, Duration, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { Bus } from "../../../src/bus/Bus.ts"
import type { AlertCondition } from "../../../src/domain/alert/AlertCondition.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import * as AlertEvaluation from "../../../src/engine/alert/AlertEvaluation.ts"
import { Alerts } from "../../../src/engine/alert/Alerts.ts"
import { TeamLeaders } from "../../../src/engine/leaders/TeamLeaders.ts"
import { Settings } from "../../../src/engine/Settings.ts"
import * as Upkeep from "../../../src/engine/upkeep/Upkeep.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { endRun, newDestination } from "../../repo/contract/delivery/fixtures.ts"
import {
  acceptOne,
  admitOne,
  at,
  createWebhook,
  endOne,
  epoch,
  failure,
  newRun,
  ops,
  outcomes,
  queueRun,
  sendRun,
  startedOne,
  success
} from "../../repo/contract/fixtures.ts"
import { lead, onPorts } from "../Scenario.ts"

/** A server that measures, and what its rules find. */
const measuring = Effect.gen(function* () {
  yield* TestClock.setTime(epoch)
  const repo = yield* Repo
  const evaluation = Layer.effectDiscard(
    Effect.flatMap(AlertEvaluation.make, (run) =>
      Upkeep.keep([{ name: "alerts", every: "5 seconds", alone: "lock", run }])
    )
  ).pipe(Layer.provide([Settings.layer({ unknownCost: 1 }), TeamLeaders.layer]))
  const start = Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Layer.buildWithScope(evaluation, scope)
    return scope
  })
  let running = yield* start
  yield* Effect.addFinalizer(() => Effect.suspend(() => Scope.close(running, Exit.void)))
  const { createRule } = yield* Effect.provide(Alerts, Alerts.layer)
  const rule = (condition: AlertCondition, fields: object = {}) => createRule({ condition, ...fields })
  return {
    repo,
    rule,
    /** The time passes while the server is stopped: measuring all the time takes long. */
    skip: (time: Duration.Input) =>
      Effect.gen(function* () {
        yield* Scope.close(running, Exit.void)
        yield* advance(time)
        running = yield* start
      }),
    /** What is firing after the next measurement, as text. */
    firing: Effect.gen(function* () {
      yield* advance("20 seconds")
      return yield* Effect.map(repo.alerts({ state: "firing", limit: 100 }), (all) =>
        all.map(({ name, value }) => `${name} ${Math.round(value * 100) / 100}`).sort()
      )
    })
  }
})

/** A run that took so many milliseconds. */
const endRunAfter = (webhook: Parameters<typeof queueRun>[0], ms: number, cost_usd?: number) =>
  Effect.gen(function* () {
    const id = yield* sendRun(webhook, 0)
    yield* startedOne(id, 0)
    yield* endOne(id, { ...success("Done"), ...(cost_usd !== undefined && { report: { usage: { cost_usd } } }) }, ms)
  })

describe("an alert begins and ends", () => {
  onPorts("with runs that fail in a row: cancelled ones do not count, and a success ends it", function* () {
    const { firing, rule } = yield* measuring
    yield* rule("failures_in_a_row")
    const webhook = yield* createWebhook()
    yield* endRun(webhook, 1, failure("No"))
    yield* endRun(webhook, 2, outcomes.timeout)
    yield* endRun(webhook, 3, outcomes.cancelled)
    expect(yield* firing).toEqual([])
    yield* endRun(webhook, 4, failure("No"))
    expect(yield* firing).toEqual(["deploy 3"])
    yield* endRun(webhook, 5)
    expect(yield* firing).toEqual([])
  })

  onPorts("with the failure rate of at least 5 runs", function* () {
    const { firing, rule } = yield* measuring
    yield* rule("failure_rate", { threshold: 40 })
    const webhook = yield* createWebhook()
    for (const outcome of [failure("No"), success("Yes"), failure("No"), success("Yes")]) {
      yield* endRun(webhook, 1, outcome)
    }
    yield* endRun(webhook, 1, outcomes.cancelled)
    expect(yield* firing).toEqual([])
    yield* endRun(webhook, 2)
    expect(yield* firing).toEqual(["deploy 40"])
    yield* endRun(webhook, 3)
    expect(yield* firing).toEqual([])
  })

  onPorts("with durations and cost, of the hours that count", function* () {
    const { firing, rule, skip } = yield* measuring
    yield* rule("latency", { threshold: 2 })
    yield* rule("cost", { threshold: 1, window_hours: 2 })
    const webhook = yield* createWebhook()
    for (const cost of [0.3, 0.3, undefined, 0.3]) yield* endRunAfter(webhook, 4_000, cost)
    expect(yield* firing).toEqual([])
    yield* endRunAfter(webhook, 4_000, 0.2)
    // Durations are counted in classes, of which this one contains 4 seconds.
    expect(yield* firing).toEqual(["deploy 1.1", "deploy 3.97"])
    yield* skip("2 hours")
    expect(yield* firing).toEqual(["deploy 1.1"])
    yield* skip("1 hours")
    expect(yield* firing).toEqual([])
  })

  onPorts("with 80 % of a budget, until the day is over", function* () {
    const { firing, rule, skip } = yield* measuring
    yield* rule("budget")
    const byRuns = yield* createWebhook({ name: "runs", max_runs_per_day: 5 })
    const byCost = yield* createWebhook({ name: "cost", max_cost_per_day: 5 })
    yield* createWebhook({ name: "free" })
    const accept = (webhook: typeof byRuns) =>
      Effect.flatMap(newRun({ ...webhook, budget: { runs: 5, cost_usd: 5, unknown_cost_usd: 1 } }), acceptOne)
    for (const webhook of [byRuns, byCost, byRuns, byCost, byRuns, byCost]) yield* accept(webhook)
    expect(yield* firing).toEqual([])
    yield* accept(byRuns)
    expect(yield* firing).toEqual(["runs 80"])
    yield* accept(byCost)
    expect(yield* firing).toEqual(["cost 80", "runs 80"])
    yield* skip("1 days")
    expect(yield* firing).toEqual([])
  })

  onPorts("without a run for a time: only of enabled webhooks", function* () {
    const { firing, repo, rule, skip } = yield* measuring
    yield* rule("no_run", { threshold: 60 })
    const webhook = yield* createWebhook()
    const off = yield* createWebhook({ name: "off" })
    yield* repo.updateWebhook(off.id, { enabled: false, updated_at: at(0) }, { versions: [1] })
    yield* skip("58 minutes")
    expect(yield* firing).toEqual([])
    yield* skip("2 minutes")
    expect(yield* firing).toEqual([expect.stringMatching(/^deploy 60/)])
    yield* queueRun(webhook, { accepted_at: yield* DateTime.now })
    expect(yield* firing).toEqual([])
  })

  onPorts("when a team has had no leader for a time, unless it is paused; not while the broker is away", function* () {
    const bus = yield* Bus
    let isAway = false
    const breakable = Layer.succeed(Bus, {
      ...bus,
      queue: (team) =>
        Effect.suspend(() => (isAway ? new Unavailable({ what: "broker", detail: "away" }) : bus.queue(team)))
    })
    const { firing, repo, rule } = yield* Effect.provide(measuring, breakable)
    yield* rule("no_leader", { threshold: 2 })
    yield* repo.createTeam(ops, at(0))
    yield* advance("1 minutes")
    expect(yield* firing).toEqual([])
    yield* advance("1 minutes")
    expect(yield* firing).toEqual(["ops 2"])
    isAway = true
    yield* lead(ops)
    yield* advance("1 minutes")
    expect(yield* firing).toEqual(["ops 2"])
    isAway = false
    expect(yield* firing).toEqual([])
    const paused = (yield* repo.createTeam("paused" as typeof ops, at(0))).team
    yield* repo.pauseTeam(paused, at(0))
    yield* advance("10 minutes")
    expect(yield* firing).toEqual([])
  })

  onPorts("when a team rests because of a usage limit, until it is resumed", function* () {
    const { firing, repo, rule } = yield* measuring
    yield* rule("usage_limit", { threshold: 2 })
    const run_id = yield* sendRun(yield* createWebhook(), 0)
    yield* repo.rest([{ run_id, at: yield* DateTime.now, reason: "You've hit your limit", until: at(3_600_000) }])
    yield* advance("1 minutes")
    expect(yield* firing).toEqual([])
    yield* advance("1 minutes")
    expect(yield* firing).toEqual([expect.stringMatching(/^ops 2/)])
    yield* repo.resumeTeam(ops, yield* DateTime.now)
    expect(yield* firing).toEqual([])
  })

  onPorts("when a team's oldest queued run has waited, for a rule of that team alone", function* () {
    const { firing, repo, rule, skip } = yield* measuring
    const other = (yield* repo.createTeam("other" as typeof ops, at(0))).team
    const webhook = yield* createWebhook()
    yield* rule("queue_age", { team: ops })
    const id = yield* queueRun(webhook)
    yield* queueRun(yield* createWebhook({ team: other }))
    yield* skip("9 minutes")
    expect(yield* firing).toEqual([])
    yield* advance("1 minutes")
    expect(yield* firing).toEqual(["ops 10"])
    yield* admitOne(id)
    expect(yield* firing).toEqual([])
  })

  onPorts("when a webhook's destination fails for a time, or was switched off by the server", function* () {
    const { firing, repo, rule, skip } = yield* measuring
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id, { failing_since: at(0) })
    yield* newDestination(undefined, { failing_since: at(0), events: ["alert.firing"] })
    yield* rule("destination_failing", { webhook_id: webhook.id })
    // So that the first measurement is now.
    yield* skip("0 seconds")
    expect(yield* firing).toEqual([])
    yield* advance(Duration.minutes(10))
    expect(yield* firing).toEqual(["deploy 10"])
    yield* repo.updateDestination(webhook.id, destination.id, { enabled: true, updated_at: at(0) })
    expect(yield* firing).toEqual([])
    yield* newDestination(webhook.id, { enabled: false })
    expect(yield* firing).toEqual([])
    yield* newDestination(webhook.id, { enabled: false, disabled_reason: "gone" })
    expect(yield* firing).toHaveLength(1)
  })

  onPorts("only for the webhook or team of its rule", function* () {
    const { firing, repo, rule } = yield* measuring
    const other = (yield* repo.createTeam("other" as typeof ops, at(0))).team
    const [one, two] = [yield* createWebhook({ name: "one" }), yield* createWebhook({ name: "two" })]
    const three = yield* createWebhook({ name: "three", team: other })
    for (const webhook of [one, two, three]) yield* endRun(webhook, 1, failure("No"))
    yield* rule("failures_in_a_row", { threshold: 1, webhook_id: one.id })
    expect(yield* firing).toEqual(["one 1"])
    yield* rule("failures_in_a_row", { threshold: 1, team: other })
    expect(yield* firing).toEqual(["one 1", "three 1"])
  })
})
