/** A queued run says why it has not been sent. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { failing, hello, type Options, silent, start } from "../Server.ts"

const starting = (options: Options = {}) =>
  Effect.map(start(options), (server) => {
    const show = (run_id: string) => Effect.map(server.admin("GET", `/api/runs/${run_id}`), ({ json }) => json)
    const why = (run_id: string) => Effect.map(show(run_id), ({ waits_for }) => waits_for)
    const send = (to: { readonly path: string }) =>
      Effect.map(server.http("POST", to.path, { body: hello }), ({ json }): string => json.run_id)
    const untilStatus = (run_id: string, status: string) => repeatUntil(show(run_id), (run) => run.status === status)
    return { ...server, show, why, send, untilStatus }
  })

describe("`waits_for` of a queued run", () => {
  it.live("names earlier runs and how many, then the work of one that has ended; no list has it", function* () {
    const { admin, history, send, show, team, untilStatus, webhook, why } = yield* starting()
    const hook = yield* webhook(yield* team("ops", silent))
    const [first, second, third] = [yield* send(hook), yield* send(hook), yield* send(hook)]
    yield* untilStatus(first, "running")
    expect(yield* show(first)).not.toHaveProperty("waits_for")
    const earlier = (runs: number, text: string) => ({
      code: "earlier_runs",
      runs,
      message: `Waiting for ${text} of the team ops.`
    })
    expect(yield* why(second)).toStrictEqual(earlier(1, "1 earlier run"))
    expect(yield* why(third)).toStrictEqual(earlier(2, "2 earlier runs"))
    for (const run of [...(yield* history(hook.id)), ...(yield* admin("GET", "/api/runs")).json.data]) {
      expect(run).not.toHaveProperty("waits_for")
    }
    yield* admin("POST", `/api/runs/${first}/cancel`)
    expect(yield* show(first)).toMatchObject({ status: "cancelled" })
    expect(yield* show(first)).not.toHaveProperty("waits_for")
    expect(yield* why(second)).toStrictEqual({
      code: "earlier_work",
      message: "The last run of the team ops has ended, but its agent is still at work."
    })
    expect(yield* why(third)).toStrictEqual(earlier(1, "1 earlier run"))
    yield* admin("POST", "/api/teams/ops/pause")
    expect(yield* why(third)).toStrictEqual({
      code: "team_paused",
      message: "The team ops is paused. This run continues when the team is resumed."
    })
  })

  it.live("names the limit whose slots are taken: that of all teams, or the webhook's own", function* () {
    const { admin, send, team, untilStatus, webhook, why } = yield* starting({ settings: { maxConcurrent: 1 } })
    const hook = yield* webhook(yield* team("ops", silent))
    yield* untilStatus(yield* send(hook), "running")
    const slot = (limit: string) => ({
      code: "slot",
      message: `Next in the team's queue, waiting for a free slot. ${limit}`
    })
    const other = yield* send(yield* webhook(yield* team("qa", silent)))
    const ofAll = "The limit (`WEBHOOK_MAX_CONCURRENT`) counts the agents at work of all teams."
    expect(yield* why(other)).toStrictEqual(slot(ofAll))
    yield* admin("PATCH", `/api/webhooks/${hook.id}`, {
      body: { team: yield* team("new", silent), max_concurrent: 1 }
    })
    const ofWebhook = "The webhook's limit (`max_concurrent`) counts the agents at work for it."
    expect(yield* why(yield* send(hook))).toStrictEqual(slot(ofWebhook))
  })

  it.live("names the missing leader, but for a run of a paused webhook only the pause", function* () {
    const { admin, faults, http, send, show, team, webhook, why } = yield* starting()
    const queues = { when_team_stopped: "queue" }
    const unled = yield* webhook(yield* team("idle", "no leader"), "{{text}}", queues)
    const [first, second] = [yield* send(unled), yield* send(unled)]
    const leader = {
      code: "leader",
      message: "No leader is connected to idle. This run continues when one connects."
    }
    expect([yield* why(first), yield* why(second)]).toStrictEqual([leader, leader])
    faults.add("broker")
    expect(yield* why(first)).toStrictEqual({
      code: "broker",
      message: "The server cannot reach the broker. This run continues when it can."
    })
    faults.clear()

    const pausing = yield* webhook(yield* team("ops", failing), "{{text}}", { ...queues, pause_after_failures: 2 })
    for (const _ of [1, 2]) yield* http("POST", `${pausing.path}?wait=true`, { body: hello })
    const of = `/api/webhooks/${pausing.id}`
    yield* repeatUntil(admin("GET", of), ({ json }) => json.paused_at !== undefined)
    yield* admin("PATCH", of, { body: { team: "idle" } })
    const kept = yield* send(pausing)
    expect(yield* show(kept)).toMatchObject({
      team: "idle",
      waits_for: {
        code: "webhook_paused",
        message: "The webhook is paused. This run is kept until the webhook is resumed."
      }
    })
    const window = yield* webhook("idle", "{{text}}", { ...queues, coalesce: { key: "text", within: 3_600 } })
    expect(yield* why(yield* send(window))).toStrictEqual({
      code: "window",
      message: "More requests can join this run until its window closes.",
      until: expect.any(String)
    })
  })
})
