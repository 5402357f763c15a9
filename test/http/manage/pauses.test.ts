import { Effect } from "effect"
import type { Delivery } from "../../../src/bus/Bus.ts"
import { describe, expect, it } from "../../support/It.ts"
import { receiver } from "../../support/Receiver.ts"
import { untilEffect } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { hello, quickPace, repoAtNoon, start, unusedId } from "../Server.ts"

/** A server with a webhook that pauses after two failures, and a leader whose runs fail while `works` is false. */
const pausingWith = (settings: object) =>
  Effect.gen(function* () {
    const leader = { works: false, seen: [] as Array<string> }
    const server = yield* start({ pace: quickPace, repo: repoAtNoon })
    const lead = ({ prompt, reply }: Delivery) => {
      leader.seen.push(prompt.prompt)
      return reply(leader.works ? { _tag: "Answered", response: "Done" } : { _tag: "Failed", message: "No" })
    }
    const hook = yield* server.webhook(yield* server.team("ops", lead), "{{text}}", {
      pause_after_failures: 2,
      ...settings
    })
    const of = `/api/webhooks/${hook.id}`
    const ask = server.http("POST", `${hook.path}?wait=true`, { body: hello })
    const shown = Effect.map(server.admin("GET", of), ({ json }) => json)
    const isPaused = (expected: boolean) =>
      untilEffect(
        expected ? "it is paused" : "it is resumed",
        Effect.map(shown, (json) => (json.paused_at !== undefined) === expected && json)
      )
    const fail = Effect.gen(function* () {
      expect((yield* ask).status).toBe(502)
      expect((yield* ask).status).toBe(502)
      return yield* isPaused(true)
    })
    const audit = Effect.map(server.admin("GET", `/api/audit?object=${hook.id}`), ({ json }) =>
      json.data.filter(({ action }: any) => /paused|resumed/.test(action)).map((e: any) => [e.action, e.actor])
    )
    const runs = server.history(hook.id)
    return { ...server, runs, leader, hook, of, ask, shown, isPaused, fail, audit }
  })
const pausing = pausingWith({})

describe("a webhook that is paused after failures in a row", () => {
  it.live("keeps the requests of services if it says so, and other webhooks' runs pass them", function* () {
    const { admin, ask, fail, hook, http, leader, of, runs, webhook } = yield* pausingWith({
      when_team_stopped: "queue"
    })
    yield* fail
    const texts = ["one", "two", "three"]
    for (const text of texts) {
      expect((yield* http("POST", hook.path, { body: { variables: { text } } })).status).toBe(202)
    }
    expect(refusal(yield* ask)).toStrictEqual([409, "webhook_paused"])
    leader.works = true
    const other = yield* webhook("ops", "{{text}}")
    expect((yield* http("POST", `${other.path}?wait=true`, { body: hello })).status).toBe(200)
    expect((yield* runs).slice(0, 3).map(({ status }) => status)).toEqual(["queued", "queued", "queued"])
    yield* admin("POST", `${of}/resume`)
    yield* untilEffect(
      "all have run",
      Effect.map(runs, (all) => all.slice(0, 3).every(({ status }) => status === "success"))
    )
    expect(leader.seen.slice(-3)).toEqual(texts)
  })

  it.live(
    "answers 200 if it says so, also without a leader or over its budget, but not to callers that wait",
    function* () {
      const { ask, fail, hook, http, team, webhook } = yield* pausingWith({ when_team_stopped: "ignore" })
      yield* fail
      const ignored = (reason: string) => ({ status: 200, json: { status: "ignored", reason } })
      const send = (to: typeof hook, query = "") => http("POST", `${to.path}${query}`, { body: hello })
      expect(yield* send(hook)).toMatchObject(ignored("The webhook is paused."))
      expect(refusal(yield* ask)).toStrictEqual([409, "webhook_paused"])
      const idle = yield* webhook(yield* team("idle", "no leader"), "{{text}}", { when_team_stopped: "ignore" })
      expect(yield* send(idle)).toMatchObject(ignored("No leader of the team is connected."))
      expect(refusal(yield* send(idle, "?wait=true"))).toStrictEqual([409, "team_not_running"])
      const limited = { when_team_stopped: "ignore", max_runs_per_day: 1 }
      const used = yield* webhook("ops", "{{text}}", limited)
      expect((yield* send(used)).status).toBe(202)
      expect(yield* send(used)).toMatchObject(ignored("The webhook has used its budget for today."))
    }
  )

  it.live("refuses its callers, says who, when and why, and is resumed by hand", function* () {
    const { received, url } = yield* receiver(200)
    const { admin, ask, audit, fail, hook, http, of, shown } = yield* pausing
    yield* admin("POST", "/api/alerts/destinations", { body: { url } })
    const paused = yield* fail
    expect(paused).toMatchObject({ enabled: true, paused_by: "automatic", paused_reason: "2 runs failed in a row" })
    expect(Date.parse(paused.paused_at)).toBeGreaterThan(0)
    for (const body of [hello, { variables: { text: "other" } }]) {
      expect(refusal(yield* http("POST", hook.path, { body }))).toStrictEqual([409, "webhook_paused"])
    }
    expect(refusal(yield* ask)).toStrictEqual([409, "webhook_paused"])
    const [alert] = yield* untilEffect(
      "its alert has begun",
      Effect.map(admin("GET", "/api/alerts?state=firing"), ({ json }) => json.data.length > 0 && json.data)
    )
    expect(alert).toMatchObject({ condition: "paused", webhook_id: hook.id, team: "ops", value: 2, threshold: 2 })
    expect(alert.rule_id).toBeUndefined()
    const resumed = yield* admin("POST", `${of}/resume`)
    expect(resumed.status).toBe(200)
    expect(resumed.json.paused_at).toBeUndefined()
    expect(resumed.json.paused_reason).toBeUndefined()
    // The two failures before do not count any longer.
    expect((yield* ask).status).toBe(502)
    expect((yield* shown).paused_at).toBeUndefined()
    expect(yield* audit).toEqual([
      ["webhook.resumed", "admin_key"],
      ["webhook.paused", "automatic"]
    ])
    yield* untilEffect(
      "both messages are there",
      Effect.sync(() => received.length === 2)
    )
    expect(received.map(({ body }) => JSON.parse(body)).map(({ data, type }) => [type, data.description])).toEqual([
      ["alert.firing", "a webhook: paused because 2 runs failed in a row"],
      ["alert.resolved", "a webhook: paused because 2 runs failed in a row"]
    ])
    expect(refusal(yield* admin("POST", `/api/webhooks/${unusedId}/resume`))).toStrictEqual([404, "not_found"])
    expect((yield* admin("POST", `${of}/resume`)).status).toBe(200)
  })

  it.live("is resumed by the success of a replay or of a run by hand, which it does not refuse", function* () {
    const { admin, ask, audit, fail, isPaused, leader, of, runs } = yield* pausing
    yield* fail
    const [last] = yield* runs
    expect((yield* admin("POST", `/api/runs/${last.run_id}/replay`)).status).toBe(202)
    yield* untilEffect(
      "the replay has failed",
      Effect.map(runs, ([newest]) => newest.run_id !== last.run_id && newest.status === "error")
    )
    expect(refusal(yield* ask)).toStrictEqual([409, "webhook_paused"])
    leader.works = true
    expect((yield* admin("POST", `/api/runs/${last.run_id}/replay`)).status).toBe(202)
    yield* isPaused(false)
    leader.works = false
    yield* fail
    leader.works = true
    expect((yield* admin("POST", `${of}/runs?wait=true`, { body: hello })).status).toBe(200)
    yield* isPaused(false)
    expect((yield* ask).status).toBe(200)
    const [resumed, paused] = ["webhook.resumed", "webhook.paused"].map((action) => [action, "automatic"])
    expect(yield* audit).toEqual([resumed, paused, resumed, paused])
  })

  it.live("answers a repeat of a request that it accepted before", function* () {
    const { ask, hook, http, isPaused, runs } = yield* pausing
    const send = (key: string) => http("POST", hook.path, { body: hello, headers: { "idempotency-key": key } })
    const first = yield* send("one")
    expect(first.status).toBe(202)
    yield* untilEffect(
      "it has failed",
      Effect.map(runs, ([newest]) => newest.status === "error")
    )
    yield* ask
    yield* isPaused(true)
    expect((yield* send("one")).json).toEqual(first.json)
    expect(refusal(yield* send("two"))).toStrictEqual([409, "webhook_paused"])
  })

  it.live("counts anew when its limit is set, or when it is enabled", function* () {
    const { admin, ask, fail, isPaused, of } = yield* pausing
    yield* admin("PATCH", of, { body: { pause_after_failures: null } })
    for (const _ of [1, 2, 3]) expect((yield* ask).status).toBe(502)
    yield* admin("PATCH", of, { body: { pause_after_failures: 2 } })
    expect((yield* ask).status).toBe(502)
    yield* admin("PATCH", of, { body: { enabled: false } })
    yield* admin("PATCH", of, { body: { enabled: true } })
    // Were the failures from before counted, the second of these would be refused.
    yield* fail
    yield* admin("PATCH", of, { body: { pause_after_failures: null } })
    yield* isPaused(false)
  })
})
