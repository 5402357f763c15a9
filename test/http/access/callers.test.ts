/** What a key of the role `caller` can reach. */

import { Effect } from "effect"
import { CookieJar } from "../../support/CookieJar.ts"
import { describe, expect, it } from "../../support/It.ts"
import { startProvider } from "../../support/OpenIdProvider.ts"
import { type Call, pointers, refusal } from "../Client.ts"
import { openEvents } from "../events/EventReader.ts"
import { clients, connected } from "../mcp/Clients.ts"
import { hello, type Leader, silent, start, unusedId } from "../Server.ts"
import { bearer, statusOf } from "./Endpoints.ts"
import { problemOf, visit } from "./SignIn.ts"

const notFound = [404, "not_found"]
const forbidden = [403, "forbidden"]

type Server = Effect.Success<ReturnType<typeof start>>

const callerOf = (server: Server, more: object = {}) =>
  Effect.map(server.admin("POST", "/api/keys", { body: { name: "caller", role: "caller", ...more } }), ({ json }) => {
    const key: string = json.key
    const as = (method: string, path: string, request: Call = {}) =>
      server.http(method, path, { ...request, headers: { ...bearer(key), ...request.headers } })
    return { key, id: json.api_key.id as string, as }
  })

/** A key for one of two webhooks, with a run that it started, and another key's run of the same webhook. */
const twoCallers = () =>
  Effect.gen(function* () {
    const server = yield* start()
    yield* server.team("ops")
    const hook = yield* server.webhook("ops", "{{text}}", { mcp_tool: "say", store_requests: "all" })
    const other = yield* server.webhook("ops", "{{text}}", { mcp_tool: "other" })
    const [mine, theirs] = [
      yield* callerOf(server, { webhooks: [hook.id] }),
      yield* callerOf(server, { webhooks: [hook.id, other.id] })
    ]
    const run = ({ as }: typeof mine, text: string, webhook = hook) =>
      Effect.map(as("POST", `/api/webhooks/${webhook.id}/runs?wait=true`, { body: { variables: { text } } }), (it) => {
        expect(it.status, it.text).toBe(200)
        return it.json.run_id as string
      })
    const own = yield* run(mine, "mine")
    const foreign = yield* run(theirs, "secret of another")
    const byToken: string = (yield* server.http("POST", `${hook.path}?wait=true`, { body: hello })).json.run_id
    return { server, hook, other, mine, theirs, run, own, foreign, byToken }
  })

describe("a key of the role caller", () => {
  it.live("finds its own runs, and none that others started, of the same webhook or of another", function* () {
    const { byToken, foreign, hook, mine, other, own, run, server, theirs } = yield* twoCallers()
    yield* run(theirs, "secret of another", other)
    for (const run_id of [foreign, byToken, unusedId]) {
      expect(refusal(yield* mine.as("GET", `/api/runs/${run_id}`))).toStrictEqual(notFound)
      expect(refusal(yield* mine.as("POST", `/api/runs/${run_id}/cancel`))).toStrictEqual(notFound)
      const { code, status } = yield* statusOf(
        server.origin,
        { method: "GET", path: `/api/runs/${run_id}/events` },
        bearer(mine.key)
      )
      expect([status, code]).toStrictEqual(notFound)
    }
    expect((yield* mine.as("GET", `/api/runs/${own}`)).json).toMatchObject({
      ...{ run_id: own, triggered_by: mine.id, conversation: { response: "echo: mine" } }
    })
    for (const query of ["", "?limit=1", "?team=ops", `?webhook_id=${hook.id}`, "?search=mine"]) {
      const { json } = yield* mine.as("GET", `/api/runs${query}`)
      expect([json.data.map(({ run_id }: { run_id: string }) => run_id), json.next_cursor], query).toStrictEqual([
        [own],
        null
      ])
    }
    for (const query of ["search=secret", `search=${foreign}`]) {
      expect((yield* mine.as("GET", `/api/runs?${query}`)).json.data, query).toStrictEqual([])
    }
    expect(refusal(yield* mine.as("GET", `/api/runs?webhook_id=${other.id}`))).toStrictEqual(notFound)
    expect((yield* theirs.as("GET", "/api/runs")).json.data).toHaveLength(2)
    // The replay of somebody else is theirs, although it repeats the key's run.
    yield* server.admin("POST", `/api/runs/${own}/replay?wait=true`, { body: {} })
    expect((yield* mine.as("GET", "/api/runs")).json.data).toHaveLength(1)
  })

  it.live("does not sign in, and sees which webhooks it may use", function* () {
    const { hook, mine, server } = yield* twoCallers()
    expect(refusal(yield* server.http("POST", "/api/session", { body: { key: mine.key } }))).toStrictEqual(forbidden)
    expect((yield* mine.as("GET", "/api/access")).json).toStrictEqual({
      ...{ key_name: "caller", role: "caller", webhooks: [hook.id] }
    })
  })

  it.live("starts runs of its webhooks only, and of none that is disabled, paused or deleted", function* () {
    const { hook, mine, other, server } = yield* twoCallers()
    const call = (id: string) => mine.as("POST", `/api/webhooks/${id}/runs`, { body: hello })
    for (const id of [other.id, unusedId]) expect(refusal(yield* call(id))).toStrictEqual(notFound)
    yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: { enabled: false } })
    expect(refusal(yield* call(hook.id))).toStrictEqual(notFound)
    yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: { enabled: true } })
    expect((yield* call(hook.id)).status).toBe(202)
    yield* server.admin("DELETE", `/api/webhooks/${hook.id}`)
    expect(refusal(yield* call(hook.id))).toStrictEqual(notFound)
    expect((yield* mine.as("GET", "/api/runs")).json.data).toStrictEqual([])
  })

  it.live("repeats its own requests by their idempotency key, and gets no run of another caller by it", function* () {
    const { hook, mine, server, theirs } = yield* twoCallers()
    const headers = { "idempotency-key": "order 7" }
    const ids = []
    for (const { as } of [mine, mine, theirs]) {
      ids.push((yield* as("POST", `/api/webhooks/${hook.id}/runs?wait=true`, { body: hello, headers })).json.run_id)
    }
    ids.push((yield* server.http("POST", `${hook.path}?wait=true`, { body: hello, headers })).json.run_id)
    expect(ids[1]).toBe(ids[0])
    expect(new Set(ids).size).toBe(3)
  })

  it.live("is offered its webhooks as tools, until they are deleted or it is revoked", function* () {
    const { foreign, hook, mine, own, server } = yield* twoCallers()
    const client = yield* connected(clients["of 2026"], server.origin, mine.key)
    const tools = Effect.map(
      Effect.promise(() => client.tools()),
      (all) => all.map((tool) => tool.name as string).slice(0, -4)
    )
    const call = (tool: string, args: object) => Effect.promise(() => client.call(tool, args))
    expect(yield* tools).toStrictEqual(["say"])
    expect((yield* call("say", { text: "a tool" })).content[0]!.text).toBe("echo: a tool")
    expect((yield* call("get_run", { run_id: own })).content[0]!.text).toBe("echo: mine")
    expect((yield* call("get_run", { run_id: foreign })).isError).toBe(true)
    expect((yield* mine.as("GET", "/api/runs")).json.data).toHaveLength(2)
    yield* Effect.flip(Effect.tryPromise(() => client.call("other", { text: "x" })))
    yield* server.admin("DELETE", `/api/webhooks/${hook.id}`)
    expect(yield* tools).toStrictEqual([])
    yield* server.admin("DELETE", `/api/keys/${mine.id}`)
    expect(refusal(yield* mine.as("GET", "/api/access"))).toStrictEqual([401, "unauthorized"])
    yield* Effect.flip(Effect.tryPromise(() => client.tools()))
  })

  it.live("watches and cancels a run of its own, until it is revoked", function* () {
    const server = yield* start()
    const hook = yield* server.webhook(yield* server.team("ops", silent), "{{text}}")
    const mine = yield* callerOf(server, { teams: ["ops"] })
    const started = yield* mine.as("POST", `/api/webhooks/${hook.id}/runs`, { body: hello })
    const path = `/api/runs/${started.json.run_id}`
    const reader = yield* openEvents(`${server.origin}${path}/events`, { headers: bearer(mine.key) })
    expect((yield* reader.next).data.run_id).toBe(started.json.run_id)
    expect((yield* mine.as("POST", `${path}/cancel`)).json).toMatchObject({ status: "cancelled" })
    const [event] = (yield* server.admin("GET", "/api/audit?action=run.cancelled")).json.data
    expect(event).toMatchObject({ actor: "api_key", key_id: mine.id })
  })

  it.live("answers each question of an agent once, and sends no other messages", function* () {
    const server = yield* start()
    const leader: Leader = ({ prompt, reply }) =>
      reply({
        ...{ _tag: "Answered", response: `about ${prompt.prompt}` },
        ...(prompt.prompt.endsWith("?") && { report: { asks: ["yes"] } })
      })
    const hook = yield* server.webhook(yield* server.team("ops", leader), "{{text}}", { mcp_tool: "do" })
    const { key } = yield* callerOf(server, { webhooks: [hook.id] })
    const client = yield* connected(clients["of 2026"], server.origin, key)
    const call = (tool: string, args: object) => Effect.promise(() => client.call(tool, args))
    const idOf = ({ _meta }: { readonly _meta?: object }) => (_meta as any)["webhook-trigger/run_id"] as string
    const reply = (run_id: string, message: string) => call("reply_to_run", { run_id, message })
    const plain = yield* call("do", { text: "plain" })
    expect((yield* reply(idOf(plain), "x")).content[0]!.text).toContain("asks a question")
    const first = yield* call("do", { text: "go?" })
    const second = yield* reply(idOf(first), "sure?")
    expect(second.content[0]!.text).toContain("about sure?")
    expect((yield* reply(idOf(first), "again")).content[0]!.text).toContain("has been answered")
    yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: { mcp_tool: null } })
    expect((yield* reply(idOf(second), "no tool")).content[0]!.text).toContain("does not exist")
    yield* server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: { mcp_tool: "do" } })
    const third = yield* reply(idOf(second), "done")
    expect(third.content[0]!.text).toBe("about done")
    expect((yield* reply(idOf(third), "more")).isError).toBe(true)
  })

  it.live("alone can be limited to webhooks, which exist", function* () {
    const server = yield* start()
    const hook = yield* server.webhook(yield* server.team("ops"), "{{text}}")
    const create = (body: object) => server.admin("POST", "/api/keys", { body: { name: "n", ...body } })
    expect(pointers(yield* create({ role: "operator", webhooks: [hook.id] }))).toStrictEqual(["/webhooks"])
    expect(pointers(yield* create({ role: "caller", webhooks: [hook.id, unusedId] }))).toStrictEqual(["/webhooks/1"])
    expect(pointers(yield* create({ role: "caller", webhooks: [] }))).toStrictEqual(["/webhooks"])
    const tooMany = Array.from({ length: 21 }, () => hook.id)
    expect(pointers(yield* create({ role: "caller", webhooks: tooMany }))).toStrictEqual(["/webhooks"])
    const { api_key } = (yield* create({ role: "caller", webhooks: [hook.id.toUpperCase(), hook.id] })).json
    expect(api_key).toMatchObject({ role: "caller", webhooks: [hook.id] })
    const [event] = (yield* server.admin("GET", "/api/audit?action=api_key.created")).json.data
    expect(event.after).toMatchObject({ role: "caller", webhooks: [hook.id] })
    expect((yield* server.admin("GET", "/api/keys")).json.data).toStrictEqual([api_key])
  })

  it.live("is no role for the web UI", function* () {
    const provider = yield* startProvider()
    const { origin } = yield* start({ oidc: provider.settings({ roles: [{ group: "*", role: "caller" }] }) })
    provider.allow(origin)
    provider.person = { id: "ada", name: "Ada", groups: ["callers"] }
    expect(problemOf(yield* visit(origin, new CookieJar()))).toBe("no_role")
  })
})
