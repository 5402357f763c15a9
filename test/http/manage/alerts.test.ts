import { Effect } from "effect"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { describe, expect, it } from "../../support/It.ts"
import { receiver } from "../../support/Receiver.ts"
import { untilEffect } from "../../support/Until.ts"
import { failing, hello, quickPace, start, unusedId } from "../Server.ts"

const destinations = "/api/alerts/destinations"
const rules = "/api/alerts/rules"

/** A server with a webhook whose runs fail. */
const failingWebhook = Effect.gen(function* () {
  const server = yield* start({ pace: quickPace })
  const hook = yield* server.webhook(yield* server.team("ops", failing))
  const addDestination = (body: object) => server.admin("POST", destinations, { body })
  const addRule = (body: object) => server.admin("POST", rules, { body })
  const fail = server.http("POST", `${hook.path}?wait=true`, { body: hello })
  const alerts = (query = "") => Effect.map(server.admin("GET", `/api/alerts${query}`), ({ json }) => json.data)
  return { ...server, hook, addDestination, addRule, fail, alerts }
})

describe("alerts", () => {
  it.live("are sent as signed events and as messages for people, once, to the destinations of the rule", function* () {
    const { received, url } = yield* receiver(200)
    const { received: inSlack, url: slack } = yield* receiver(200)
    const { received: elsewhere, url: other } = yield* receiver(200)
    const { addDestination, addRule, admin, alerts, fail, hook, http } = yield* failingWebhook
    const one = (yield* addDestination({ url })).json
    const two = (yield* addDestination({ url: slack, kind: "slack" })).json
    yield* addDestination({ url: other })
    const { json: rule } = yield* addRule({
      condition: "failures_in_a_row",
      threshold: 2,
      webhook_id: hook.id,
      destination_ids: [one.destination.id, two.destination.id]
    })
    yield* fail
    yield* fail
    const [alert] = yield* untilEffect(
      "the alert is firing",
      Effect.map(alerts("?state=firing"), (all) => all.length > 0 && all)
    )
    expect(alert).toMatchObject({
      rule_id: rule.id,
      condition: "failures_in_a_row",
      state: "firing",
      name: "a webhook",
      webhook_id: hook.id,
      team: "ops",
      threshold: 2,
      value: 2
    })
    yield* untilEffect(
      "both have their message",
      Effect.sync(() => received.length > 0 && inSlack.length > 0)
    )
    const [{ body, headers }] = received as [(typeof received)[number]]
    expect(new StandardWebhook(one.secret).verify(body, headers as Record<string, string>)).toMatchObject({
      type: "alert.firing",
      timestamp: alert.since,
      data: {
        alert_id: alert.id,
        rule_id: rule.id,
        condition: "failures_in_a_row",
        description: "a webhook: 2 runs failed in a row",
        webhook: { id: hook.id, name: "a webhook" },
        value: 2
      }
    })
    expect(JSON.parse(inSlack[0]!.body).text).toBe("Alert: a webhook: 2 runs failed in a row")
    const { json } = yield* admin("GET", "/api/alerts/deliveries")
    expect(json.data).toHaveLength(2)
    for (const delivery of json.data) expect(delivery).toMatchObject({ alert_id: alert.id, event: "alert.firing" })
    const again = `/api/alerts/deliveries/${json.data[0].id}`
    yield* untilEffect(
      "it is delivered",
      Effect.map(admin("GET", again), (answer) => answer.json.status === "delivered")
    )
    expect((yield* admin("POST", `${again}/resend`)).status).toBe(200)
    expect(elsewhere).toEqual([])
    yield* admin("POST", "/api/teams", { body: { team: "others" } })
    for (const [team, count] of [
      ["ops", 1],
      ["others", 0]
    ] as const) {
      const { json } = yield* admin("POST", "/api/keys", { body: { name: team, role: "viewer", teams: [team] } })
      const headers = { authorization: `Bearer ${json.key}` }
      expect((yield* http("GET", "/api/alerts", { headers })).json.data).toHaveLength(count)
    }
    expect(yield* alerts(`?webhook_id=${hook.id}`)).toHaveLength(1)
    expect(yield* alerts("?state=resolved")).toEqual([])
    expect((yield* admin("GET", `/api/webhooks/${hook.id}/deliveries`)).json.data).toEqual([])
  })

  it.live("can be tried: a test is sent as an alert destination would get one, also by a template", function* () {
    const { received, url } = yield* receiver(200)
    const { addDestination, admin } = yield* failingWebhook
    const { json } = yield* addDestination({ url })
    const path = `${destinations}/${json.destination.id}`
    expect((yield* admin("POST", `${path}/test`)).json).toMatchObject({ http_status: 200 })
    expect(JSON.parse(received[0]!.body)).toMatchObject({ type: "test", data: { condition: "failures_in_a_row" } })
    const template = "{{ event }}: {{ alert.description }} since {{ alert.since }}"
    expect((yield* admin("PATCH", path, { body: { body: "template", template } })).status).toBe(200)
    yield* admin("POST", `${path}/test`)
    expect(received[1]!.body).toMatch(/^alert\.firing: sample: 3 runs failed in a row since 20/)
    expect((yield* admin("GET", path)).json.webhook_id).toBeUndefined()
    expect((yield* admin("POST", `${path}/secret`)).json.secret).toMatch(/^whsec_/)
    expect((yield* admin("DELETE", path)).status).toBe(204)
    expect((yield* admin("GET", destinations)).json.data).toEqual([])
  })

  it.live("have no two equal rules, also of requests at the same time and after an edit", function* () {
    const { addRule, admin, hook } = yield* failingWebhook
    const rule = { condition: "cost", webhook_id: hook.id }
    const added = yield* Effect.all(
      [1, 2, 3].map(() => addRule(rule)),
      { concurrency: "unbounded" }
    )
    expect(added.map(({ status }) => status).toSorted()).toEqual([201, 422, 422])
    const { id } = added.find(({ status }) => status === 201)!.json
    const same = [{ pointer: "", detail: `is the same as the rule ${id}` }]
    // With the defaults of its condition.
    expect((yield* addRule({ ...rule, threshold: 10, window_hours: 24, enabled: true })).json.errors).toEqual(same)
    const other = yield* addRule({ ...rule, threshold: 11 })
    expect(other.status).toBe(201)
    const edit = (body: object) => admin("PATCH", `${rules}/${other.json.id}`, { body })
    expect((yield* edit({ threshold: 10 })).json.errors).toEqual(same)
    expect((yield* edit({ threshold: 10, destination_ids: [] })).status).toBe(200)
    expect((yield* edit({ destination_ids: null })).json.errors).toEqual(same)
    expect((yield* edit({ threshold: 12 })).status).toBe(200)
    expect((yield* admin("PATCH", `${rules}/${id}`, { body: { threshold: 10 } })).status).toBe(200)
    for (const more of [{ condition: "failure_rate" }, { condition: "cost" }, { condition: "cost", team: "ops" }]) {
      expect((yield* addRule(more)).status).toBe(201)
    }
  })

  it.live("have rules, whose faults are all reported", function* () {
    const { addRule, admin, hook } = yield* failingWebhook
    const faultsOf = (body: object) =>
      Effect.map(addRule(body), ({ json, status }) => [
        status,
        ...(json.errors ?? []).map(({ detail, pointer }: any) => `${pointer} ${detail}`)
      ])
    expect(yield* faultsOf({ condition: "failures_in_a_row", threshold: 1.5, window_hours: 2 })).toEqual([
      422,
      "/threshold must be a whole number from 1 to 100",
      "/window_hours is not a field of failures_in_a_row"
    ])
    expect(yield* faultsOf({ condition: "no_leader", webhook_id: hook.id, destination_ids: [unusedId] })).toEqual([
      422,
      "/webhook_id cannot be set for no_leader, which covers teams",
      "/destination_ids/0 is not an alert destination"
    ])
    expect(yield* faultsOf({ condition: "cost", webhook_id: unusedId })).toEqual([422, "/webhook_id does not exist"])
    expect(yield* faultsOf({ condition: "queue_age", team: "nobody" })).toEqual([422, "/team does not exist"])
    expect((yield* faultsOf({ condition: "weather" }))[0]).toBe(422)
    const { json: rule } = yield* addRule({ condition: "cost" })
    expect(rule).toMatchObject({ condition: "cost", threshold: 10, window_hours: 24, enabled: true })
    const path = `${rules}/${rule.id}`
    const { json: edited } = yield* admin("PATCH", path, { body: { threshold: 2.5, enabled: false } })
    expect(edited).toMatchObject({ threshold: 2.5, enabled: false })
    expect((yield* admin("PATCH", path, { body: { condition: "latency" } })).status).toBe(422)
    expect((yield* admin("GET", rules)).json.data).toEqual([edited])
    expect((yield* admin("DELETE", path)).status).toBe(204)
    expect((yield* admin("PATCH", path, { body: {} })).status).toBe(404)
    const events = (yield* admin("GET", `/api/audit?object=${rule.id}`)).json.data
    expect(events.map(({ action }: any) => action)).toEqual([
      "alert_rule.deleted",
      "alert_rule.edited",
      "alert_rule.created"
    ])
  })

  it.live("go to alert destinations only, which get nothing about runs", function* () {
    const { addDestination, admin, hook } = yield* failingWebhook
    const url = "http://127.0.0.1:1/"
    const wrong = [
      [addDestination({ url, events: ["run.failed"] }), "/events"],
      [addDestination({ kind: "slack-response", target: "{{ x }}" }), "/kind"],
      [admin("POST", `/api/webhooks/${hook.id}/destinations`, { body: { url, events: ["alert.firing"] } }), "/events"]
    ] as const
    for (const [request, pointer] of wrong) {
      const { json, status } = yield* request
      expect([status, json.errors?.[0].pointer]).toEqual([422, pointer])
    }
    expect((yield* addDestination({ url })).json.destination.events).toEqual(["alert.firing", "alert.resolved"])
  })
})
