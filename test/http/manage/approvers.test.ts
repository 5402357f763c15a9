/** Who may approve the runs of a webhook, and all the ways by which text gets to its agent. */

import { Effect } from "effect"
import { describe, expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"
import { bearer } from "../access/Endpoints.ts"
import { refusal } from "../Client.ts"
import { clients, connected } from "../mcp/Clients.ts"
import { hello, type Leader, start } from "../Server.ts"
import { deliverTo, secret } from "../trigger/Github.ts"

/** Asks after each text with a question mark. */
const asking =
  (seen: Array<string>): Leader =>
  ({ prompt: { prompt }, reply }) => {
    seen.push(prompt)
    return reply({ _tag: "Answered", response: prompt, report: prompt.endsWith("?") ? { asks: ["yes"] } : {} })
  }

const guarded = (more: object = {}, options: Parameters<typeof start>[0] = {}) =>
  Effect.gen(function* () {
    const server = yield* start(options)
    const seen: Array<string> = []
    const team = yield* server.team("ops", asking(seen))
    const hook = yield* server.webhook(team, "{{text}}", { approval: "required", mcp_tool: "say", ...more })
    const keyOf = (name: string, role: string) =>
      Effect.gen(function* () {
        const { json } = yield* server.admin("POST", "/api/keys", { body: { name, role } })
        const as = (method: string, path: string, body: object = {}) =>
          server.http(method, path, { ...(method !== "GET" && { body }), headers: bearer(json.key) })
        const mcp = yield* connected(clients["of 2026"], server.origin, json.key)
        const tool = (name: string, args: object) =>
          Effect.map(
            Effect.promise(() => mcp.call(name, args)),
            ({ _meta }) => _meta?.["webhook-trigger/run_id"] as string
          )
        return { as, id: json.api_key.id as string, mcp, tool }
      })
    const shown = (id: string) => Effect.map(server.admin("GET", `/api/runs/${id}`), ({ json }) => json)
    const ended = (id: string) =>
      untilEffect(
        "the run has ended",
        Effect.map(shown(id), (run) => run.finished_at !== undefined && run)
      )
    const trigger = (text = "hello") =>
      Effect.map(server.http("POST", hook.path, { body: { variables: { text } } }), ({ json }) => json.run_id as string)
    const approve = (id: string) => server.admin("POST", `/api/runs/${id}/approval`, { body: { decision: "approve" } })
    return { ...server, approve, ended, hook, keyOf, seen, shown, trigger }
  })

const decision = { decision: "approve" }

describe("a webhook with approval", () => {
  it.live("holds a caller's tool calls and replies to the agent's questions, each for its own approval", function* () {
    const { approve, ended, keyOf, seen, shown } = yield* guarded()
    const caller = yield* keyOf("assistant", "caller")
    const asked = yield* caller.tool("say", { text: "go?" })
    expect(yield* shown(asked)).toMatchObject({ status: "queued", waits_for: { code: "approval" } })
    yield* approve(asked)
    expect((yield* ended(asked)).asks).toEqual(["yes"])
    const reply = yield* caller.tool("reply_to_run", { run_id: asked, message: "delete everything" })
    expect(yield* shown(reply)).toMatchObject({
      ...{ status: "queued", waits_for: { code: "approval" }, triggered_by: caller.id },
      conversation: { prompt: "delete everything" }
    })
    expect(seen).toEqual(["go?"])
    expect(refusal(yield* caller.as("POST", `/api/runs/${reply}/approval`, decision))).toEqual([403, "forbidden"])
    const { decision_refusal } = (yield* caller.as("GET", `/api/runs/${reply}`)).json
    expect(decision_refusal).toBe("Only operators may approve or deny runs.")
    yield* approve(reply)
    yield* ended(reply)
    expect(seen).toEqual(["go?", "delete everything"])
  })

  it.live(
    "lets only those whom it names approve, and holds what other operators start, replay and reply",
    function* () {
      const { admin, ended, hook, keyOf, seen, shown, trigger } = yield* guarded({ approvers: ["key:release"] })
      const [other, release] = [yield* keyOf("ops", "admin"), yield* keyOf("release", "operator")]
      const first = yield* trigger("go?")
      const refusalFor = (key: typeof other, id: string) =>
        Effect.map(key.as("GET", `/api/runs/${id}`), ({ json }) => json.decision_refusal)
      expect(yield* refusalFor(other, first)).toContain("`approvers`")
      expect(yield* refusalFor(release, first)).toBeUndefined()
      const refused = yield* other.as("POST", `/api/runs/${first}/approval`, decision)
      expect(refusal(refused)).toEqual([403, "forbidden"])
      expect(refused.json.detail).toContain("`approvers`")
      expect((yield* other.as("POST", `/api/runs/${first}/approval`, { decision: "deny" })).status).toBe(403)
      const approved = yield* release.as("POST", `/api/runs/${first}/approval`, decision)
      expect(approved.json).toMatchObject({ decided_by: "key release" })
      const { json } = yield* admin("GET", `/api/audit?object=${first}`)
      expect(json.data.filter(({ action }: any) => action !== "run.read")).toMatchObject([
        { action: "run.approved", key_name: "release" },
        { action: "run.decision_refused", key_name: "ops", after: { decision: "deny" } },
        { action: "run.decision_refused", key_name: "ops", after: { decision: "approve" } }
      ])
      yield* ended(first)

      const started = (yield* other.as("POST", `/api/webhooks/${hook.id}/runs`, { variables: { text: "test" } })).json
      const replayed = (yield* other.as("POST", `/api/runs/${first}/replay`, { variables: { text: "new" } })).json
      const many = (yield* other.as("POST", "/api/runs/replay", { run_ids: [first] })).json.replayed[0]
      const called = yield* other.tool("say", { text: "tool" })
      for (const run_id of [started.run_id, replayed.run_id, many.run_id, called]) {
        expect(yield* shown(run_id)).toMatchObject({ waits_for: { code: "approval" } })
        // Who asked is no approver, whatever the webhook names next.
        yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { approvers: ["role:operator"] } })
        expect((yield* other.as("POST", `/api/runs/${run_id}/approval`, decision)).json.detail).toContain("You asked")
        expect(yield* refusalFor(other, run_id)).toContain("You asked")
        yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { approvers: ["key:release"] } })
      }
      const waits = yield* other.as("POST", `/api/runs/${first}/replay?wait=true`)
      expect(refusal(waits)).toEqual([400, "invalid_wait"])
      const reply = yield* other.as("POST", `/api/runs/${first}/reply`, { message: "yes" })
      expect(refusal(reply)).toEqual([403, "forbidden"])
      const byTool = yield* Effect.promise(() =>
        other.mcp.call("reply_to_run", { run_id: called, message: "delete everything" })
      )
      expect(byTool.isError).toBe(true)
      expect(seen).toEqual(["go?"])

      const own = (yield* release.as("POST", `/api/runs/${first}/replay`, { variables: { text: "own" } })).json.run_id
      yield* ended(own)
      const answer = (yield* release.as("POST", `/api/runs/${first}/reply`, { message: "yes" })).json
      yield* ended(answer.message_id ?? answer.run_id)
      expect(seen).toEqual(["go?", "own", "yes"])
    }
  )

  it.live(
    "holds each replay of a run that was accepted without approval, unless one who may approve asks for it",
    function* () {
      const { admin, ended, hook, keyOf, seen, shown, trigger } = yield* guarded({ approval: "none" })
      const [other, release] = [yield* keyOf("ops", "admin"), yield* keyOf("release", "operator")]
      const first = yield* trigger("old")
      yield* ended(first)
      const body = { approval: "required", approvers: ["key:release"] }
      expect((yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body })).status).toBe(200)
      const one = (prompt: string) =>
        Effect.map(other.as("POST", `/api/runs/${first}/replay`, { prompt }), ({ json }) => json)
      const many = (body: object) =>
        Effect.map(other.as("POST", "/api/runs/replay", body), ({ json }) => json.replayed[0])
      const since = { webhook_id: hook.id, status: ["success"] }
      for (const { run_id } of [
        // Only runs without a replay match.
        yield* many(since),
        yield* one("same"),
        yield* one("template"),
        yield* many({ run_ids: [first] })
      ]) {
        expect(yield* shown(run_id)).toMatchObject({ waits_for: { code: "approval" }, asked_by: other.id })
      }
      expect(seen).toEqual(["old"])
      yield* ended((yield* release.as("POST", `/api/runs/${first}/replay`, { prompt: "same" })).json.run_id)
      expect(seen).toEqual(["old", "old"])
    }
  )

  it.live("holds the runs of a chain, which those who asked for its first run cannot approve", function* () {
    const { admin, history, hook, http, keyOf, shown, webhook } = yield* guarded()
    const first = yield* webhook("ops", "{{text}}", { mcp_tool: "first" })
    const chain = { kind: "chain", target: hook.id, template: '{"text": "{{ run.response }}"}', body: "template" }
    const created = yield* admin("POST", `/api/webhooks/${first.id}/destinations`, { body: chain })
    expect(created.status).toBe(201)
    const operator = yield* keyOf("ops", "operator")
    yield* operator.tool("first", { text: "by a tool" })
    const [held] = yield* untilEffect(
      "the chain goes on",
      Effect.map(history(hook.id), (runs) => runs.length > 0 && runs)
    )
    expect(yield* shown(held.run_id)).toMatchObject({ waits_for: { code: "approval" }, asked_by: operator.id })
    const own = yield* operator.as("POST", `/api/runs/${held.run_id}/approval`, decision)
    expect(own.json.detail).toContain("You asked")
    expect((yield* http("POST", first.path, { body: hello })).status).toBe(202)
  })

  for (const coalesce of [undefined, { key: "payload.branch", within: 1 }]) {
    it.live(
      `returns the run that was denied to a redelivery, and asks for no other one${coalesce ? ", of a window" : ""}`,
      function* () {
        const { admin, history, http, team, webhook } = yield* start()
        const hook = yield* webhook(yield* team("ops"), "{{payload.n}}", {
          ...{ approval: "required", input: "payload", verification: { preset: "github" }, secret },
          ...(coalesce && { coalesce })
        })
        const deliver = (n: number) =>
          Effect.map(deliverTo({ http }, hook.path)({ branch: "main", n }, secret), ({ json }) => json.run_id)
        const first = yield* deliver(1)
        if (coalesce) expect(yield* deliver(2)).toBe(first)
        const denied = yield* untilEffect(
          "its window has closed",
          Effect.map(
            admin("POST", `/api/runs/${first}/approval`, { body: { decision: "deny" } }),
            (answer) => answer.status === 200 && answer
          )
        )
        expect(denied.json).toMatchObject({ cancelled_by: "denied" })
        expect([yield* deliver(1), coalesce ? yield* deliver(2) : first]).toEqual([first, first])
        expect(yield* history(hook.id)).toHaveLength(1)
      }
    )
  }
})
