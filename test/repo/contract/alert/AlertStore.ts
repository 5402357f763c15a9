import { expect } from "@effect/vitest"
import { DateTime, Duration, Effect, Result, Stream } from "effect"
import type { AlertRule } from "../../../../src/domain/alert/AlertRule.ts"
import { Invalid } from "../../../../src/domain/Errors.ts"
import { type DestinationId, makeAlertRuleId, makeDestinationId, type WebhookId } from "../../../../src/domain/Id.ts"
import type { TeamName } from "../../../../src/domain/Team.ts"
import type { Breach } from "../../../../src/repo/alert/AlertChanges.ts"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { claimAll, endRun, newDestination } from "../delivery/fixtures.ts"
import {
  at,
  count,
  createWebhook,
  endOne,
  outcomes,
  queueRun,
  sendRun,
  startedOne,
  success,
  team as teamOf
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const minute = 60_000
const quiet = Duration.hours(1)

const newRule = (fields: Partial<AlertRule> = {}) =>
  Effect.gen(function* () {
    const rule: AlertRule = {
      id: yield* makeAlertRuleId,
      condition: "failures_in_a_row",
      threshold: 3,
      enabled: true,
      created_at: at(0),
      updated_at: at(0),
      ...fields
    }
    return yield* (yield* Repo).createRule(rule)
  })

const breachOf = (rule: AlertRule, fields: Partial<Breach> = {}): Breach => ({
  rule,
  subject: "webhook one",
  name: "one",
  value: 4,
  ...fields
})

/** Measures the rule `minutes` later: what fulfils it. */
const measure = (rule: AlertRule, minutes: number, breaches: ReadonlyArray<Breach>) =>
  Effect.flatMap(Repo, (repo) =>
    repo.recordMeasurement({ now: at(minutes * minute), rules: [rule], breaches, quiet }, at(-minute))
  )

const alertsOf = (rule: AlertRule) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.alerts({ limit: 100 })),
    (all) => all.filter(({ rule_id }) => rule_id === rule.id)
  )

/** What was sent to the alert destination: the newest first. */
const sentTo = (id: DestinationId) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.deliveries({ owner: null, destination_id: id, limit: 100 })),
    ({ data }) => data.map(({ event }) => event)
  )

const newAlertDestination = Effect.suspend(() =>
  newDestination(undefined, { events: ["alert.firing", "alert.resolved"] })
)

export const alertStore = (test: Test): void => {
  test("an alert begins once and is over once, with one message each to every alert destination", function* () {
    const repo = yield* Repo
    const changes = yield* subscribe(repo)
    const [rule, destination] = [yield* newRule(), yield* newAlertDestination]
    yield* measure(rule, 1, [breachOf(rule)])
    yield* measure(rule, 2, [breachOf(rule, { value: 9 })])
    const [firing] = yield* alertsOf(rule)
    expect(firing).toEqual({
      id: firing!.id,
      rule_id: rule.id,
      condition: "failures_in_a_row",
      state: "firing",
      name: "one",
      threshold: 3,
      value: 4,
      since: at(minute),
      notified_at: at(minute)
    })
    expect(yield* sentTo(destination.id)).toEqual(["alert.firing"])
    const due = (yield* claimAll(minute)).filter((one) => one.destination.id === destination.id)
    expect(due).toMatchObject([{ event: "alert.firing", alert: firing, made: 0 }])
    yield* measure(rule, 3, [])
    yield* measure(rule, 4, [])
    expect(yield* alertsOf(rule)).toEqual([{ ...firing, state: "resolved", resolved_at: at(3 * minute) }])
    expect(yield* sentTo(destination.id)).toEqual(["alert.resolved", "alert.firing"])
    yield* Stream.fromQueue(changes).pipe(
      Stream.filter(({ _tag }) => _tag === "DeliveryDue"),
      Stream.runHead
    )
  })

  test("an alert that begins again within an hour is silent, until the hour has passed", function* () {
    const [rule, destination] = [yield* newRule(), yield* newAlertDestination]
    yield* measure(rule, 0, [breachOf(rule)])
    yield* measure(rule, 1, [])
    yield* measure(rule, 2, [breachOf(rule)])
    yield* measure(rule, 3, [])
    yield* measure(rule, 50, [breachOf(rule), breachOf(rule, { subject: "webhook two", name: "two" })])
    expect(yield* sentTo(destination.id)).toEqual(["alert.firing", "alert.resolved", "alert.firing"])
    expect((yield* alertsOf(rule)).map(({ name, notified_at }) => [name, notified_at !== undefined])).toEqual(
      expect.arrayContaining([
        ["two", true],
        ["one", false],
        ["one", true]
      ])
    )
    yield* measure(rule, 60, [breachOf(rule), breachOf(rule, { subject: "webhook two", name: "two" })])
    expect(yield* sentTo(destination.id)).toHaveLength(4)
    yield* measure(rule, 61, [])
    expect(yield* sentTo(destination.id)).toHaveLength(6)
  })

  test("a condition that must last is an alert only after that time", function* () {
    const repo = yield* Repo
    const [rule, destination] = [yield* newRule({ condition: "no_leader", threshold: 5 }), yield* newAlertDestination]
    const { value: _, ...lasting } = breachOf(rule, { after: Duration.minutes(5) })
    yield* measure(rule, 0, [lasting])
    yield* measure(rule, 4, [lasting])
    yield* measure(rule, 4.5, [])
    expect(yield* alertsOf(rule)).toEqual([])
    yield* measure(rule, 5, [lasting])
    yield* measure(rule, 9.9, [lasting])
    expect(yield* alertsOf(rule)).toEqual([])
    yield* measure(rule, 10.5, [lasting])
    expect(yield* alertsOf(rule)).toMatchObject([{ state: "firing", since: at(5 * minute), value: 5.5 }])
    expect(yield* sentTo(destination.id)).toEqual(["alert.firing"])
    expect(yield* repo.alerts({ state: "resolved", limit: 100 })).not.toContainEqual(
      expect.objectContaining({ rule_id: rule.id })
    )
  })

  test("reads the newest alerts of some teams, however many others have newer ones", function* () {
    const repo = yield* Repo
    const rule = yield* newRule()
    const [one, two] = [teamOf("alerts-one"), teamOf("alerts-two")]
    const old = breachOf(rule, { team: one })
    yield* measure(rule, 1, [old])
    yield* measure(rule, 2, [old, ...count(3).map((n) => breachOf(rule, { subject: `webhook ${n}`, team: two }))])
    const teamsFor = (owners: ReadonlyArray<TeamName>, limit: number) =>
      Effect.map(repo.alerts({ owners, limit }), (all) => all.map(({ team }) => team))
    expect(yield* teamsFor([one], 1)).toEqual([one])
    expect(yield* teamsFor([one, two], 2)).toEqual([two, two])
    expect(yield* teamsFor([one, two], 100)).toEqual([two, two, two, one])
    expect(yield* teamsFor([], 100)).toEqual([])
  })

  test("an alert that has not ended moves with its webhook to another team, without another message", function* () {
    const repo = yield* Repo
    const [rule, destination] = [yield* newRule({ condition: "no_leader", threshold: 5 }), yield* newAlertDestination]
    const [from, to] = [teamOf("alerts-from"), teamOf("alerts-to")]
    const { value: _, ...early } = breachOf(rule, { subject: "early", team: from, after: Duration.minutes(5) })
    const breaches = [early, breachOf(rule, { team: from })]
    const moved = breaches.map((breach) => ({ ...breach, name: "moved", team: to }))
    yield* measure(rule, 0, breaches)
    expect(yield* repo.alerts({ owners: [from], limit: 100 })).toMatchObject([{ name: "one", value: 4 }])
    yield* measure(rule, 6, moved)
    expect(yield* repo.alerts({ owners: [from], limit: 100 })).toEqual([])
    expect(yield* repo.alerts({ owners: [to], limit: 100 })).toHaveLength(2)
    for (const alert of yield* alertsOf(rule)) expect(alert).toMatchObject({ name: "moved", state: "firing" })
    expect(yield* sentTo(destination.id)).toEqual(["alert.firing", "alert.firing"])
  })

  test("what was not measured stays as it is, and a rule chooses its destinations", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* newAlertDestination, yield* newAlertDestination]
    const rule = yield* newRule({ destination_ids: [two.id] })
    yield* measure(rule, 0, [breachOf(rule)])
    yield* repo.recordMeasurement({ now: at(minute), rules: [], breaches: [], quiet }, at(-minute))
    expect(yield* alertsOf(rule)).toMatchObject([{ state: "firing" }])
    expect([yield* sentTo(one.id), yield* sentTo(two.id)]).toEqual([[], ["alert.firing"]])
    yield* repo.updateRule(rule.id, { destination_ids: null, updated_at: at(minute) })
    yield* measure(rule, 2, [])
    expect([yield* sentTo(one.id), yield* sentTo(two.id)]).toEqual([
      ["alert.resolved"],
      ["alert.resolved", "alert.firing"]
    ])
  })

  test("servers that record the same at the same time write one alert and one message", function* () {
    const [rule, destination] = [yield* newRule(), yield* newAlertDestination]
    yield* Effect.all(
      count(5).map(() => measure(rule, 1, [breachOf(rule)])),
      { concurrency: "unbounded" }
    )
    expect(yield* alertsOf(rule)).toHaveLength(1)
    expect(yield* sentTo(destination.id)).toEqual(["alert.firing"])
  })

  test("one server measures at a time", function* () {
    const repo = yield* Repo
    const begin = (seconds: number) => repo.beginMeasuring(at(1e9 + seconds * 1000), Duration.seconds(15))
    expect([yield* begin(0), yield* begin(14), yield* begin(15), yield* begin(16)]).toEqual([true, false, true, false])
  })

  test("a rule that is switched off or deleted has no alerts any more", function* () {
    const repo = yield* Repo
    const [rule, destination] = [yield* newRule(), yield* newAlertDestination]
    yield* measure(rule, 0, [breachOf(rule)])
    const off = yield* repo.updateRule(rule.id, { enabled: false, threshold: 5, updated_at: at(minute) })
    expect(off).toEqual({ ...rule, enabled: false, threshold: 5, updated_at: at(minute) })
    expect(yield* alertsOf(rule)).toMatchObject([{ state: "resolved", resolved_at: at(minute) }])
    yield* measure(rule, 2, [breachOf(rule)])
    expect(yield* alertsOf(rule)).toHaveLength(1)
    expect(yield* sentTo(destination.id)).toEqual(["alert.firing"])
    yield* repo.deleteRule(rule.id)
    expect([yield* alertsOf(rule), yield* sentTo(destination.id)]).toEqual([[], []])
    expect((yield* Effect.flip(repo.rule(rule.id)))._tag).toBe("NotFound")
    expect((yield* Effect.flip(repo.deleteRule(rule.id)))._tag).toBe("NotFound")
  })

  test("a rule is deleted with its webhook or team, and needs one that exists", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const { team } = yield* repo.createTeam(teamOf("alerts"), at(0))
    const rules = [yield* newRule({ webhook_id: webhook.id }), yield* newRule({ team, created_at: at(1) })]
    const known = yield* repo.rules
    expect(known.filter(({ id }) => rules.some((rule) => rule.id === id))).toEqual(rules)
    yield* repo.deleteWebhook(webhook.id)
    yield* repo.deleteTeam(team)
    for (const { id } of rules) expect((yield* Effect.flip(repo.rule(id)))._tag).toBe("NotFound")
    const missing = [{ webhook_id: webhook.id }, { team: teamOf("no-such-team") }]
    for (const fields of missing) expect((yield* Effect.flip(newRule(fields)))._tag).toBe("Invalid")
  })

  test("of changes at the same time that ask for the others, each is told of those before it", function* () {
    const repo = yield* Repo
    const { webhook_id, ...facts } = yield* newRule({ webhook_id: (yield* createWebhook()).id })
    const alone = (others: ReadonlyArray<AlertRule>) =>
      others.filter((other) => other.webhook_id === webhook_id && other.threshold === 7).length > 0
        ? new Invalid({ faults: [] })
        : undefined
    const create = Effect.gen(function* () {
      const rule = { ...facts, id: yield* makeAlertRuleId, threshold: 7, ...(webhook_id && { webhook_id }) }
      return yield* repo.createRule(rule, undefined, alone)
    })
    const made = yield* Effect.all([create, create, create].map(Effect.result), { concurrency: "unbounded" })
    expect(made.map(({ _tag }) => _tag).toSorted()).toEqual(["Failure", "Failure", "Success"])
    const change = { threshold: 7, updated_at: at(1) }
    expect((yield* Effect.flip(repo.updateRule(facts.id, change, undefined, alone)))._tag).toBe("Invalid")
    // It is not beside itself.
    const { id } = Result.getOrThrow(made.find(Result.isSuccess)!)
    expect((yield* repo.updateRule(id, change, undefined, alone)).updated_at).toEqual(at(1))
  })

  test("alerts that are over for long are deleted", function* () {
    const repo = yield* Repo
    const rule = yield* newRule()
    yield* measure(rule, 0, [breachOf(rule)])
    yield* measure(rule, 1, [])
    const later = { now: at(9 * minute), rules: [rule], breaches: [], quiet }
    yield* repo.recordMeasurement(later, at(minute))
    expect(yield* alertsOf(rule)).toHaveLength(1)
    yield* repo.recordMeasurement(later, at(minute + 1))
    expect(yield* alertsOf(rule)).toEqual([])
  })

  test("counts the failures since the last success, without cancelled runs", function* () {
    const repo = yield* Repo
    const failures = (id: WebhookId, most = 100) => Effect.map(repo.failuresInARow(most), (all) => all.get(id))
    const webhook = yield* createWebhook()
    expect(yield* failures(webhook.id)).toBeUndefined()
    yield* endRun(webhook, 1, outcomes.error)
    yield* endRun(webhook, 2, outcomes.timeout)
    expect(yield* failures(webhook.id)).toBe(2)
    yield* endRun(webhook, 3, success("Done"))
    expect(yield* failures(webhook.id)).toBeUndefined()
    yield* endRun(webhook, 4, outcomes.error)
    yield* endRun(webhook, 5, outcomes.cancelled)
    yield* queueRun(webhook)
    yield* endRun(webhook, 6, outcomes.timeout)
    yield* endRun(webhook, 7, outcomes.error)
    expect(yield* failures(webhook.id)).toBe(3)
    expect(yield* failures(webhook.id, 2)).toBe(2)
    yield* endRun(webhook, 8, { status: "error", error: { code: "budget_exceeded", message: "used up" } })
    expect(yield* failures(webhook.id)).toBe(3)
    yield* repo.updateWebhook(webhook.id, { failures_since: at(6), updated_at: at(6) })
    expect(yield* failures(webhook.id)).toBe(1)
  })

  test("a paused webhook has recovered after a success, even of a run from before the pause", function* () {
    const repo = yield* Repo
    const [webhook, other] = [yield* createWebhook(), yield* createWebhook({ name: "other" })]
    const hasRecovered = Effect.map(repo.recovered, (all) => all.has(webhook.id))
    yield* endRun(webhook, 1, success("Done"))
    yield* endRun(webhook, 2, outcomes.error)
    yield* repo.pauseWebhook(webhook.id, { version: 1, at: at(3), reason: "" })
    yield* endRun({ ...webhook, version: 2 }, 4, outcomes.error)
    yield* endRun({ ...webhook, version: 2 }, 5, outcomes.cancelled)
    yield* endRun(other, 6, success("Done"))
    expect(yield* hasRecovered).toBe(false)
    yield* endRun({ ...webhook, version: 2 }, 6, success("Done"))
    expect(yield* hasRecovered).toBe(true)
    expect((yield* repo.recovered).has(other.id)).toBe(false)
    yield* repo.resumeWebhook(webhook.id, at(7))
    expect(yield* hasRecovered).toBe(false)
  })

  test("measuring is needed for rules that are switched on, webhooks that may pause or are paused, and open alerts", function* () {
    const repo = yield* Repo
    const needed = repo.isNeeded
    for (const { id } of yield* repo.rules) yield* repo.deleteRule(id)
    yield* repo.recordMeasurement({ now: at(0), rules: [{}], breaches: [], quiet }, at(-minute))
    const webhook = yield* createWebhook()
    expect(yield* needed).toBe(false)
    const rule = yield* newRule({ enabled: false })
    expect(yield* needed).toBe(false)
    yield* repo.updateRule(rule.id, { enabled: true, updated_at: at(1) })
    expect(yield* needed).toBe(true)
    yield* repo.deleteRule(rule.id)
    expect(yield* needed).toBe(false)
    yield* repo.updateWebhook(webhook.id, { pause_after_failures: 2, updated_at: at(2) })
    expect(yield* needed).toBe(true)
    yield* repo.pauseWebhook(webhook.id, { version: 2, at: at(3), reason: "" })
    yield* repo.updateWebhook(webhook.id, { pause_after_failures: null, updated_at: at(4) })
    expect(yield* needed).toBe(true)
    const pause = { condition: "paused", threshold: 2 } as const
    const breach: Breach = { rule: pause, subject: `webhook ${webhook.id}`, name: "one", value: 2 }
    yield* repo.recordMeasurement({ now: at(5), rules: [{}], breaches: [breach], quiet }, at(-minute))
    yield* repo.deleteWebhook(webhook.id)
    expect(yield* needed).toBe(true)
    yield* repo.recordMeasurement({ now: at(6), rules: [{}], breaches: [], quiet }, at(-minute))
    expect(yield* needed).toBe(false)
  })

  test("reads durations and the use of budgets of several webhooks", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const hour = DateTime.startOf(at(0), "hour")
    expect((yield* repo.durations(hour)).filter(({ webhook_id }) => webhook_id === webhook.id)).toEqual([])
    for (const n of count(3)) {
      const id = yield* sendRun(webhook, 1_000)
      yield* startedOne(id, 1_000)
      yield* endOne(id, success("Done"), 1_000 + (n + 1) * 1_024)
    }
    expect((yield* repo.durations(hour)).filter(({ webhook_id }) => webhook_id === webhook.id)).toMatchObject([
      { runs: 3, p95_ms: 3_072 }
    ])
    const use = { runs: 0, priced_runs: 0, cost_usd: 0 }
    expect(yield* repo.dayUses([webhook.id], at(0))).toEqual(new Map([[webhook.id, use]]))
    expect(yield* repo.dayUses([], at(0))).toEqual(new Map())
  })

  test("an alert destination belongs to no webhook, and gets nothing about runs", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const destination = yield* newAlertDestination
    yield* endRun(webhook, 10)
    expect(yield* sentTo(destination.id)).toEqual([])
    expect((yield* repo.destinations(null)).map(({ id }) => id)).toContain(destination.id)
    expect(yield* repo.destinations(webhook.id)).toEqual([])
    expect((yield* Effect.flip(repo.destinationRow(webhook.id, destination.id)))._tag).toBe("NotFound")
    yield* repo.deleteDestination(null, destination.id)
    expect((yield* Effect.flip(repo.destinationRow(null, yield* makeDestinationId)))._tag).toBe("NotFound")
  })
}
