import { expect } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import * as AlertEvaluation from "../../../src/engine/alert/AlertEvaluation.ts"
import { TeamLeaders } from "../../../src/engine/leaders/TeamLeaders.ts"
import { Settings } from "../../../src/engine/Settings.ts"
import * as Upkeep from "../../../src/engine/upkeep/Upkeep.ts"
import { WebhookStore } from "../../../src/repo/manage/WebhookStore.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { endRun, newDestination } from "../../repo/contract/delivery/fixtures.ts"
import { at, createWebhook, epoch, failure, ops, success, team } from "../../repo/contract/fixtures.ts"
import { onPorts } from "../Scenario.ts"

const server = Layer.effectDiscard(
  Effect.flatMap(AlertEvaluation.make, (run) =>
    Upkeep.keep([{ name: "alerts", every: "5 seconds", alone: "lock", run }])
  )
).pipe(Layer.provide([Settings.layer(), TeamLeaders.layer]))

/** A webhook that pauses after two failures, and an alert destination. */
const pausing = Effect.gen(function* () {
  yield* TestClock.setTime(epoch)
  const repo = yield* Repo
  const webhook = yield* createWebhook({ pause_after_failures: 2 })
  const destination = yield* newDestination(undefined, { events: ["alert.firing", "alert.resolved"] })
  const current = repo.webhook(webhook.id)
  let ended = 0
  const end = (outcome: Parameters<typeof endRun>[2]) =>
    Effect.flatMap(Effect.zip(current, Clock.currentTimeMillis), ([{ team, version }, now]) =>
      endRun({ ...webhook, team, version }, now - epoch + ++ended, outcome)
    )
  return {
    repo,
    webhook,
    fail: end(failure("No")),
    succeed: end(success("Yes")),
    current,
    isPaused: Effect.map(current, ({ paused_at }) => paused_at !== undefined),
    measured: advance("20 seconds"),
    alerts: Effect.map(repo.alerts({ webhook_id: webhook.id, limit: 10 }), (all) =>
      all.map(({ condition, rule_id, state, threshold, value }) => ({ condition, rule_id, state, threshold, value }))
    ),
    /** The oldest first. */
    sent: Effect.map(repo.deliveries({ owner: null, destination_id: destination.id, limit: 10 }), ({ data }) =>
      data.map(({ event }) => event).toReversed()
    )
  }
})

const begun = { condition: "paused", rule_id: undefined, state: "firing", threshold: 2, value: 2 }
const both = ["alert.firing", "alert.resolved"]

describe("a webhook with `pause_after_failures`", () => {
  onPorts("is paused once with one alert by several servers, and resumed by a success", function* () {
    const { alerts, current, fail, isPaused, measured, repo, sent, succeed, webhook } = yield* pausing
    for (const _ of [1, 2, 3]) yield* Layer.build(server)
    yield* fail
    yield* measured
    expect(yield* isPaused).toBe(false)
    yield* fail
    yield* measured
    expect(yield* current).toMatchObject({ version: 2, paused_reason: "2 runs failed in a row" })
    expect(yield* alerts).toEqual([begun])
    yield* fail
    yield* advance("1 minute")
    expect(yield* alerts).toEqual([begun])
    yield* succeed
    yield* measured
    expect([yield* isPaused, (yield* current).version]).toEqual([false, 3])
    expect(yield* alerts).toEqual([{ ...begun, state: "resolved" }])
    expect(yield* sent).toEqual(both)
    const { data } = yield* repo.auditEvents({ object: webhook.id, limit: 10 })
    expect(data.map(({ action, actor }) => [action, actor])).toEqual([
      ["webhook.resumed", "automatic"],
      ["webhook.paused", "automatic"]
    ])
  })

  onPorts("is not paused again by the same failures after it was resumed by hand", function* () {
    const { alerts, fail, isPaused, measured, repo, sent, webhook } = yield* pausing
    yield* Layer.build(server)
    yield* fail
    yield* fail
    yield* measured
    expect(yield* isPaused).toBe(true)
    yield* repo.resumeWebhook(webhook.id, at(10))
    yield* measured
    yield* measured
    expect(yield* isPaused).toBe(false)
    expect(yield* alerts).toEqual([{ ...begun, state: "resolved" }])
    expect(yield* sent).toEqual(both)
  })

  onPorts("gets the alert of a pause after which the server crashed, and no second pause", function* () {
    const { alerts, current, fail, measured, repo, sent, webhook } = yield* pausing
    yield* fail
    yield* fail
    yield* repo.pauseWebhook(webhook.id, { version: 1, at: at(3), reason: "2 runs failed in a row" })
    expect(yield* alerts).toEqual([])
    yield* Layer.build(server)
    yield* measured
    yield* measured
    expect(yield* alerts).toEqual([begun])
    expect(yield* sent).toEqual(["alert.firing"])
    expect((yield* current).version).toBe(2)
  })

  onPorts("has no alert without a pause: when it is edited in between, the next round decides", function* () {
    const { alerts, current, fail, isPaused, measured, repo, webhook } = yield* pausing
    let edits = 1
    const edited = Layer.succeed(WebhookStore, {
      ...repo,
      pauseWebhook: (...given) =>
        Effect.andThen(
          edits-- > 0
            ? Effect.orDie(repo.updateWebhook(webhook.id, { name: "edited", updated_at: at(5) }))
            : Effect.void,
          repo.pauseWebhook(...given)
        )
    })
    yield* fail
    yield* fail
    yield* Layer.build(Layer.provide(server, edited))
    yield* advance("1 second")
    expect([yield* isPaused, yield* alerts]).toEqual([false, []])
    yield* measured
    expect(yield* current).toMatchObject({ name: "edited", version: 3, paused_by: "automatic" })
    expect(yield* alerts).toEqual([begun])
  })

  onPorts("ends its alert with a message when it is deleted", function* () {
    const { alerts, fail, measured, repo, sent, webhook } = yield* pausing
    yield* Layer.build(server)
    yield* fail
    yield* fail
    yield* measured
    yield* repo.deleteWebhook(webhook.id)
    yield* measured
    expect(yield* alerts).toEqual([{ ...begun, state: "resolved" }])
    expect(yield* sent).toEqual(both)
  })

  onPorts(
    "takes its alert along to another team, and sends nothing if it is paused again within an hour",
    function* () {
      const { alerts, fail, measured, repo, sent, webhook } = yield* pausing
      const other = team("moved")
      yield* repo.createTeam(other, at(0))
      yield* Layer.build(server)
      yield* fail
      yield* fail
      yield* measured
      yield* repo.updateWebhook(webhook.id, { team: other, name: "renamed", updated_at: at(4) })
      yield* measured
      const alertsOf = (owner: typeof other) => repo.alerts({ owners: [owner], webhook_id: webhook.id, limit: 10 })
      expect(yield* alertsOf(ops)).toEqual([])
      expect(yield* alertsOf(other)).toMatchObject([{ team: other, name: "renamed", state: "firing" }])
      yield* repo.resumeWebhook(webhook.id, at(10))
      yield* measured
      yield* repo.updateWebhook(webhook.id, { failures_since: at(0), updated_at: at(11) })
      yield* measured
      yield* repo.resumeWebhook(webhook.id, at(12))
      yield* measured
      expect(yield* alerts).toHaveLength(2)
      expect(yield* sent).toEqual(both)
    }
  )
})
