/** Conversations of keys with the role `caller`; what answers a question once also on PostgreSQL. */

import { Effect, type Layer } from "effect"
import type { Repo } from "../../../src/repo/Repo.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repoOnPostgres } from "../../support/RealServices.ts"
import { bearer } from "../access/Endpoints.ts"
import { type Leader, repoAtNoon, start } from "../Server.ts"
import { clients, connected, type Result } from "./Clients.ts"

const textOf = ({ content: [first] }: Result) => first!.text
const runIdIn = ({ _meta }: Result) => _meta?.["webhook-trigger/run_id"] as string

/** Says in which session it is, and asks after each text with a question mark. */
const leader: Leader = ({ prompt: { prompt, thread }, reply }) =>
  reply({
    ...{ _tag: "Answered", response: `${prompt} in ${thread?.session_id ?? "no session"}` },
    report: { session_id: `session of ${prompt}`, ...(prompt.endsWith("?") && { asks: ["yes"] }) }
  })

const begin = (repo?: Layer.Layer<Repo>) =>
  Effect.gen(function* () {
    const server = yield* start({ ...(repo && { repo }) })
    yield* server.team("ops", leader)
    const callerOf = (more: object) =>
      Effect.gen(function* () {
        const { json } = yield* server.admin("POST", "/api/keys", { body: { name: "caller", role: "caller", ...more } })
        const client = yield* connected(clients["of 2026"], server.origin, json.key)
        const call = (tool: string, args: object, key?: string) =>
          Effect.promise(() =>
            client.call(
              tool,
              args,
              undefined,
              key === undefined ? undefined : { "webhook-trigger/idempotency_key": key }
            )
          )
        const as = (method: string, path: string, body?: object) =>
          server.http(method, path, { ...(body && { body }), headers: bearer(json.key) })
        const reply = (run_id: string, message: string, key?: string) => call("reply_to_run", { run_id, message }, key)
        return { as, call, reply }
      })
    return { callerOf, server }
  })

describe("a key of the role caller", () => {
  it.live("answers a question once, also when it sends several replies at the same time", function* () {
    const { callerOf, server } = yield* begin(repoOnPostgres)
    const hook = yield* server.webhook("ops", "{{text}}", { mcp_tool: "say" })
    const { call, reply } = yield* callerOf({ webhooks: [hook.id] })
    const asked = runIdIn(yield* call("say", { text: "go?" }))
    const replies = yield* Effect.forEach([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], (n) => reply(asked, "yes", `key ${n % 9}`), {
      concurrency: "unbounded"
    })
    const [accepted, refused] = [
      replies.filter(({ isError }) => isError === undefined),
      replies.filter(({ isError }) => isError)
    ]
    expect(new Set(accepted.map(runIdIn)).size).toBe(1)
    expect(refused.length).toBeGreaterThanOrEqual(8)
    for (const each of refused) expect(textOf(each)).toContain("has been answered")
    expect(yield* server.history(hook.id)).toHaveLength(2)
  })

  it.live("repeats its reply by the idempotency key, also while the webhook is over its limits", function* () {
    const { callerOf, server } = yield* begin()
    const hook = yield* server.webhook("ops", "{{text}}", { mcp_tool: "say", max_runs_per_day: 2 })
    const { call, reply } = yield* callerOf({ webhooks: [hook.id] })
    const asked = runIdIn(yield* call("say", { text: "go?" }))
    const first = yield* reply(asked, "yes", "k")
    const again = yield* reply(asked, "yes", "k")
    expect([textOf(again), runIdIn(again)]).toEqual(["yes in session of go?", runIdIn(first)])
    yield* server.admin("POST", `/api/runs/${asked}/reply?wait=true`, { body: { message: "and then" } })
    expect(runIdIn(yield* reply(asked, "yes", "k"))).toBe(runIdIn(first))
    for (const [message, key] of [
      ["no", "k"],
      ["yes", "l"],
      ["yes", undefined]
    ] as const) {
      expect(textOf(yield* reply(asked, message, key))).toContain("has been answered")
    }
    expect(yield* server.history(hook.id)).toHaveLength(2)
  })

  it.live("continues its own conversations, and none of another webhook or key by the same thread key", function* () {
    const { callerOf, server } = yield* begin()
    const thread_key = "{{key}}"
    const hook = yield* server.webhook("ops", "{{text}}", { mcp_tool: "say", thread_key })
    const secret = yield* server.webhook("ops", "{{text}}", { mcp_tool: "other", thread_key })
    const both = yield* callerOf({ webhooks: [hook.id, secret.id] })
    const mine = yield* callerOf({ webhooks: [hook.id] })
    const run = (as: typeof mine.as, id: string, text: string, key: string) =>
      Effect.map(as("POST", `/api/webhooks/${id}/runs?wait=true`, { variables: { text, key } }), ({ json }) => json)
    const admin = (method: string, path: string, body?: object) => server.admin(method, path, { ...(body && { body }) })
    yield* run(admin, secret.id, "a secret", "conv")
    yield* run(both.as, hook.id, "of another key", "conv")
    expect((yield* run(mine.as, hook.id, "a", "conv")).response).toBe("a in no session")
    const { response, run_id } = yield* run(mine.as, hook.id, "b", " conv ")
    expect(response).toBe("b in session of a")
    expect(textOf(yield* mine.call("say", { text: "c", key: "conv" }))).toBe("c in session of b")
    expect((yield* run(both.as, secret.id, "d", "conv")).response).toBe("d in no session")
    // Nor does a key that looks like the one of somebody else's thread.
    const { key } = (yield* server.admin("GET", `/api/runs/${run_id}`)).json.thread
    expect((yield* run(both.as, hook.id, "e", key)).response).toBe("e in no session")
    expect((yield* run(admin, hook.id, "f", key)).response).toBe("f in no session")
    expect((yield* run(admin, secret.id, "g", "conv")).response).toBe("g in session of a secret")
  })

  it.live("replies within the limits of the webhook, whose runs the replies are", function* () {
    const { callerOf, server } = yield* begin(repoAtNoon)
    const hook = yield* server.webhook("ops", "{{text}}", { mcp_tool: "say", max_runs_per_day: 2 })
    const { call, reply } = yield* callerOf({ webhooks: [hook.id] })
    const edit = (body: object) => server.admin("PATCH", `/api/webhooks/${hook.id}`, { body })
    const first = yield* call("say", { text: "one?" })
    const second = yield* reply(runIdIn(first), "two?")
    expect(textOf(second)).toContain("two? in session of one?")
    expect(yield* server.history(hook.id)).toHaveLength(2)
    expect(textOf(yield* reply(runIdIn(second), "three?"))).toContain("max_runs_per_day")
    yield* edit({ max_runs_per_day: null, rate: "1/hour" })
    const third = yield* reply(runIdIn(second), "three?")
    expect(textOf(third)).toContain("three? in session of two?")
    expect(textOf(yield* reply(runIdIn(third), "four?"))).toContain("1/hour")
    yield* edit({ rate: null, enabled: false })
    expect(textOf(yield* reply(runIdIn(third), "four?"))).toContain("does not exist")
    yield* edit({ enabled: true, coalesce: { key: "text", within: 60 }, accept_if: "text == 'x'" })
    expect(textOf(yield* reply(runIdIn(third), "four"))).toContain("four in session of three?")
  })

  it.live("answers no question that somebody else has answered", function* () {
    const { callerOf, server } = yield* begin()
    const hook = yield* server.webhook("ops", "{{text}}", { mcp_tool: "say" })
    const { call, reply } = yield* callerOf({ webhooks: [hook.id] })
    const asked = runIdIn(yield* call("say", { text: "delete it?" }))
    const no = yield* server.admin("POST", `/api/runs/${asked}/reply?wait=true`, { body: { message: "no" } })
    expect(no.json.response).toBe("no in session of delete it?")
    for (const key of [undefined, "k"]) {
      expect(textOf(yield* reply(asked, "yes", key))).toContain("has been answered")
    }
    expect(yield* server.history(hook.id)).toHaveLength(1)
  })

  it.live("loses its runs of a webhook that moves to a team which is not its own, as in the API", function* () {
    const { callerOf, server } = yield* begin()
    yield* server.team("dev")
    const hook = yield* server.webhook("ops", "{{text}}", { mcp_tool: "say" })
    const { as, call, reply } = yield* callerOf({ teams: ["ops"] })
    const run_id = runIdIn(yield* call("say", { text: "go?" }))
    const moveTo = (team: string) => server.admin("PATCH", `/api/webhooks/${hook.id}`, { body: { team } })
    expect((yield* moveTo("dev")).status).toBe(200)
    for (const tool of ["get_run", "cancel_run"]) {
      expect(textOf(yield* call(tool, { run_id })), tool).toContain("does not exist")
    }
    expect(textOf(yield* reply(run_id, "yes"))).toContain("does not exist")
    expect(textOf(yield* call("list_runs", {}))).toContain("No runs")
    expect((yield* as("GET", `/api/runs/${run_id}`)).status).toBe(404)
    yield* moveTo("ops")
    expect(textOf(yield* call("get_run", { run_id }))).toContain("go? in no session")
    expect(textOf(yield* call("list_runs", {}))).toContain(run_id)
  })
})
