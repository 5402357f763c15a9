import { Effect, Logger } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { type call, refusal } from "../Client.ts"
import { adminKey, hello, silent, start, unusedId } from "../Server.ts"

const wrongKey = { authorization: "Bearer not-the-key-of-this-server" }

/** Signs in, and returns the headers of a page of the UI. */
const signIn = (http: ReturnType<typeof call>, origin: string) =>
  Effect.map(
    http("POST", "/api/session", { body: { key: adminKey }, headers: { origin, "user-agent": "A browser" } }),
    ({ headers }) => ({ cookie: headers.get("set-cookie")!.split(";")[0]!, origin })
  )

describe("audit events", () => {
  it.live("show who read a whole run, once for as long as somebody follows it, and who exported runs", function* () {
    const { admin, http, origin, team, webhook } = yield* start()
    const { id, path } = yield* webhook(yield* team("ops"))
    const post = Effect.map(http("POST", `${path}?wait=true`, { body: hello }), ({ json }) => json.run_id as string)
    const [one, other] = [yield* post, yield* post]
    const ui = yield* signIn(http, origin)
    for (let n = 0; n < 3; n++) {
      yield* http("GET", `/api/runs/${one}`, { headers: ui })
      yield* admin("GET", `/api/runs/${one}`)
    }
    yield* admin("GET", `/api/runs/${other}`)
    yield* admin("GET", `/api/runs/${unusedId}`)
    yield* admin("GET", "/api/runs")
    yield* http("GET", `${path}/runs/${one}`)
    const query = `webhook_id=${id.toUpperCase()}&status=success,error&from=2020-01-01T00:00:00Z`
    yield* admin("GET", `/api/runs/export.csv?${query}`)
    yield* admin("GET", "/api/runs/export.jsonl?team=none", { headers: { authorization: "Bearer wrong" } })
    yield* http("GET", "/api/runs/export.jsonl", { headers: ui })

    const events = (action: string) =>
      Effect.map(admin("GET", `/api/audit?action=${action}`), ({ json }) =>
        json.data.map(({ actor, after, object }: any) => [actor, object, after])
      )
    expect(yield* events("run.read")).toEqual([
      ["admin_key", other, undefined],
      ["admin_key", one, undefined],
      ["session", one, undefined]
    ])
    expect(yield* events("runs.exported")).toEqual([
      ["session", undefined, { file: "runs.jsonl" }],
      [
        ...["admin_key", id],
        { file: "runs.csv", webhook_id: id.toUpperCase(), status: "success,error", from: "2020-01-01T00:00:00.000Z" }
      ]
    ])
  })

  it.live("show who changed what, from where, before and after, and no secret", function* () {
    const { admin, http, origin, team, webhook } = yield* start()
    yield* team("ops", "no leader")
    const { id, token } = yield* webhook("ops", "Deploy {{app}}")
    const ui = yield* signIn(http, origin)
    yield* http("PATCH", `/api/webhooks/${id}`, { body: { prompt_template: "{{a}}", rate: "9/min" }, headers: ui })
    const regenerated = yield* http("POST", `/api/webhooks/${id}/token`, { headers: ui })
    yield* http("DELETE", `/api/webhooks/${id}`, { headers: ui })
    yield* http("DELETE", "/api/teams/ops", { headers: ui })
    yield* http("DELETE", "/api/session", { headers: ui })
    expect((yield* http("GET", "/api/audit")).status).toBe(401)

    const { json, text } = yield* admin("GET", "/api/audit")
    for (const secret of [token, regenerated.json.token, adminKey, ui.cookie.split("=")[1]]) {
      expect(text).not.toContain(secret)
    }
    const from = { client_address: "127.0.0.1", id: expect.any(String), at: expect.any(String) }
    const session_id = json.data[0].session_id
    const byKey = { ...from, actor: "admin_key" }
    const bySession = { ...from, actor: "session", session_id }
    const hints = [token, regenerated.json.token].map((token) => `…${token.slice(-4)}`)
    const set = {
      name: "a webhook",
      team: "ops",
      prompt_template: "Deploy {{app}}",
      enabled: true,
      token_hint: hints[0]
    }
    expect(json).toStrictEqual({
      data: [
        { ...bySession, action: "session.ended", object: session_id },
        { ...bySession, action: "team.deleted", object: "ops" },
        {
          ...{ ...bySession, action: "webhook.deleted", object: id },
          before: { ...set, prompt_template: "{{a}}", rate: "9/min", token_hint: hints[1] }
        },
        {
          ...{ ...bySession, action: "webhook.token_regenerated", object: id },
          ...{ before: { token_hint: hints[0] }, after: { token_hint: hints[1] } }
        },
        {
          ...{ ...bySession, action: "webhook.edited", object: id },
          before: { prompt_template: "Deploy {{app}}", rate: null },
          after: { prompt_template: "{{a}}", rate: "9/min" }
        },
        { ...byKey, action: "session.started", object: session_id, after: { user_agent: "A browser" } },
        { ...byKey, action: "webhook.created", object: id, after: set },
        { ...byKey, action: "team.created", object: "ops" }
      ],
      next_cursor: null
    })
    const filtered = yield* admin("GET", `/api/audit?object=${id}&action=webhook.edited`)
    expect(filtered.json.data.map(({ action }: any) => action)).toStrictEqual(["webhook.edited"])
    const first = yield* admin("GET", "/api/audit?limit=3")
    const second = yield* admin("GET", `/api/audit?limit=9&cursor=${first.json.next_cursor}`)
    expect([...first.json.data, ...second.json.data]).toStrictEqual(json.data)
    expect(refusal(yield* admin("GET", "/api/audit?cursor=x"))).toStrictEqual([400, "invalid_parameter"])
    expect(refusal(yield* admin("GET", "/api/audit?action=none"))).toStrictEqual([400, "invalid_parameter"])
  })

  it.live("show what was cancelled by hand, and not what a caller cancelled", function* () {
    const { admin, http, team, webhook } = yield* start({ settings: { maxConcurrent: 1 } })
    yield* team("slow", silent)
    const { id, path } = yield* webhook("slow")
    const [one, two] = [yield* http("POST", path, { body: hello }), yield* http("POST", path, { body: hello })]
    yield* http("POST", path, { body: hello })
    yield* admin("POST", `/api/runs/${one.json.run_id}/cancel`)
    yield* http("POST", `${path}/runs/${two.json.run_id}/cancel`)
    yield* admin("POST", `/api/webhooks/${id}/cancel-queued?dry_run=true`)
    yield* admin("POST", `/api/webhooks/${id}/cancel-queued`)
    yield* admin("POST", "/api/teams/slow/cancel-queued")
    const { data } = (yield* admin("GET", "/api/audit?limit=3")).json
    expect(data.map(({ action, object, after }: any) => [action, object, after])).toEqual([
      ["team.queue_cancelled", "slow", { cancelled: 0, retries: 0 }],
      ["webhook.queue_cancelled", id, { cancelled: 1, retries: 0 }],
      ["run.cancelled", one.json.run_id, undefined]
    ])
  })

  it.live("show runs and messages that were started by hand, and nothing that was refused", function* () {
    const { admin, team, webhook } = yield* start()
    const { id } = yield* webhook(yield* team("ops"))
    const run = yield* admin("POST", `/api/webhooks/${id}/runs?wait=true`, { body: hello })
    const message = yield* admin("POST", "/api/teams/ops/messages", { body: { message: "hello" } })
    yield* admin("POST", `/api/webhooks/${id}/runs`, { body: { variables: {} } })
    yield* admin("PATCH", `/api/webhooks/${id}`, { body: { name: "" } })
    yield* admin("DELETE", `/api/webhooks/${unusedId}`)
    yield* admin("DELETE", "/api/teams/ops")
    const { data } = (yield* admin("GET", "/api/audit")).json
    expect(data.map(({ action, object, after }: any) => [action, object, after?.run_id])).toStrictEqual([
      ["team.message_sent", "ops", message.json.message_id],
      ["webhook.run_started", id, run.json.run_id],
      ["webhook.created", id, undefined],
      ["team.created", "ops", undefined]
    ])
  })

  it.live("show wrong keys, of programs and in the UI, a few events for any number of them", function* () {
    const { admin, http, origin } = yield* start({ trustedProxies: ["127.0.0.1"] })
    const guess = (address: string) =>
      http("GET", "/api/teams", { headers: { ...wrongKey, "x-forwarded-for": address } })
    for (let n = 0; n < 30; n++) yield* guess("203.0.113.7")
    yield* http("POST", "/api/session", {
      body: { key: "x".repeat(20) },
      headers: { origin, "x-forwarded-for": "203.0.113.8" }
    })
    for (let n = 0; n < 100; n++) yield* guess(`198.51.100.${n}`)
    const refused = Effect.map(
      admin("GET", "/api/audit?action=key.refused&limit=100"),
      ({ json }): Array<any> => json.data
    )
    const events = yield* repeatUntil(Effect.delay(refused, "20 millis"), (all) => all.length >= 20)
    expect(events).toHaveLength(20)
    for (const event of events) expect(event).toMatchObject({ actor: "unknown", attempts: 1 })
    const addresses = events.map(({ client_address }: any) => client_address)
    expect(addresses).toContain("203.0.113.7")
    expect(addresses).toContain("203.0.113.8")
  })
})

describe("the export of audit events", () => {
  it.live("has all that a filter finds, oldest first, and is an event itself", function* () {
    const { admin, team, webhook } = yield* start()
    yield* team("ops")
    const { id } = yield* webhook("ops", "{{text}}", { name: "=1+1" })
    for (let n = 0; n < 600; n++) yield* admin("PATCH", `/api/webhooks/${id}`, { body: { name: `name ${n}` } })
    const file = yield* admin("GET", "/api/audit/export.jsonl")
    expect(file.headers.get("content-type")).toBe("application/jsonl")
    expect(file.headers.get("content-disposition")).toBe('attachment; filename="audit.jsonl"')
    const events = file.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(events.slice(0, 602).map(({ action, after }) => [action, after?.name])).toEqual([
      ["team.created", undefined],
      ["webhook.created", "=1+1"],
      ...Array.from({ length: 600 }, (_, n) => ["webhook.edited", `name ${n}`])
    ])
    const event = events[1]
    expect([event]).toEqual((yield* admin("GET", "/api/audit?action=webhook.created")).json.data)

    const csv = yield* admin("GET", `/api/audit/export.csv?object=${id}&action=webhook.created`)
    const names =
      "id,at,action,actor,key_id,key_name,person_id,person_name,session_id,client_address,object,before,after,attempts"
    const [head, line, end] = csv.text.split("\r\n")
    expect([head, end]).toEqual([names, ""])
    expect(line).toContain(`${event.id},${event.at},webhook.created,admin_key,,,,,,127.0.0.1,${id},,"{""`)
    const found = (query: string) =>
      Effect.map(admin("GET", `/api/audit/export.jsonl?${query}`), ({ text }) => text.split("\n").length - 1)
    expect(yield* found(`object=${id}`)).toBe(601)
    expect(yield* found(`object=${id}&to=${event.at}`)).toBe(0)
    expect(yield* found(`from=2999-01-01T00:00:00Z`)).toBe(0)
    expect(refusal(yield* admin("GET", "/api/audit/export.csv?action=none"))).toStrictEqual([400, "invalid_parameter"])

    const exported = (yield* admin("GET", "/api/audit?action=audit.exported")).json.data
    expect(exported.map(({ actor, after }: any) => [actor, after])).toEqual([
      ["admin_key", { from: "2999-01-01T00:00:00.000Z", file: "audit.jsonl" }],
      ["admin_key", { object: id, to: event.at, file: "audit.jsonl" }],
      ["admin_key", { object: id, file: "audit.jsonl" }],
      ["admin_key", { object: id, action: "webhook.created", file: "audit.csv" }],
      ["admin_key", { file: "audit.jsonl" }]
    ])
  })

  it.live("is refused while the database is unreachable", function* () {
    const { admin, faults } = yield* start()
    faults.add("database")
    expect((yield* admin("GET", "/api/audit/export.jsonl")).status).toBe(503)
  })
})

describe("the request log", () => {
  it.live("has the client's address, who it was, and what the request was about", () => {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make((entry) => lines.push(Logger.formatLogFmt.log(entry)))])
    return Effect.gen(function* () {
      const { admin, http, origin, team, webhook } = yield* start({ trustedProxies: ["127.0.0.1"] })
      const forwarded = { "x-forwarded-for": "203.0.113.7" }
      const { id, path } = yield* webhook(yield* team("ops"))
      const { run_id } = (yield* http("POST", `${path}?wait=true`, { body: hello, headers: forwarded })).json
      const ui = yield* signIn(http, origin)
      yield* http("DELETE", `/api/webhooks/${id}`, { headers: { ...ui, ...forwarded } })
      yield* admin("DELETE", "/api/teams/ops", { headers: forwarded })
      yield* http("GET", "/api/webhooks/whk_a-token-in-a-wrong-place", { headers: { ...wrongKey, ...forwarded } })
      const lineOf = (route: string) => lines.findLast((line) => line.includes(route))!
      const trigger = lineOf("POST /webhook/trigger/:token")
      for (const part of ["client_address=203.0.113.7", `run_id=${run_id}`, `webhook_id=${id}`]) {
        expect(trigger).toContain(part)
      }
      const deletion = lineOf("DELETE /api/webhooks/:id")
      for (const part of ["client_address=203.0.113.7", "actor=session", "session_id=", `webhook_id=${id}`]) {
        expect(deletion).toContain(part)
      }
      const ofTeam = lineOf("DELETE /api/teams/:team")
      for (const part of ["client_address=203.0.113.7", "actor=admin_key", "team=ops"]) expect(ofTeam).toContain(part)
      const refused = lineOf("GET /api/webhooks/:id")
      expect(refused).toContain("status=401")
      expect(refused).toContain("client_address=203.0.113.7")
      expect(lines.join()).not.toContain("whk_")
    }).pipe(Effect.provide(logger))
  })
})
