/** Webhooks as tools of the Model Context Protocol, with its official clients. */
import { type IncomingHttpHeaders, request } from "node:http"
import { isCreateTaskResultV2, isDetailedTaskV2 } from "@modelcontextprotocol/ext-tasks/core/v2"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { LongestWait } from "../../../src/http/mcp/Runs.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { adminKey, echo, failing, type Leader, repoAtNoon, silent, start, unusedId } from "../Server.ts"
import { asking, clients, connected } from "./Clients.ts"

const runIdIn = ({ _meta }: { readonly _meta?: { readonly [name: string]: unknown } }) =>
  _meta?.["webhook-trigger/run_id"] as string

const textOf = ({ content: [first] }: { readonly content: ReadonlyArray<{ readonly text: string }> }) => first!.text

const keyFor = ({ admin }: Effect.Success<ReturnType<typeof start>>, more: object = {}) =>
  Effect.map(
    admin("POST", "/api/keys", { body: { name: "assistant", role: "operator", ...more } }),
    ({ json }): string => json.key
  )

const meta = (capabilities: object) => ({
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "a test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": capabilities
})

/** Requests as a client with tasks sends them. The official clients do not have tasks of 2026. */
const withTasks = ({ http }: Effect.Success<ReturnType<typeof start>>, key: string, capabilities: object = {}) => {
  const extensions = { "io.modelcontextprotocol/tasks": {} }
  return (
    method: string,
    params: { readonly name?: string; readonly taskId?: string; readonly [name: string]: unknown }
  ) =>
    Effect.map(
      http("POST", "/mcp", {
        body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta({ extensions, ...capabilities }) } },
        headers: {
          authorization: `Bearer ${key}`,
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method,
          "mcp-name": params.name ?? params.taskId ?? ""
        }
      }),
      ({ json }) => json.result ?? json.error
    )
}

describe("MCP", () => {
  for (const [name, connect] of Object.entries(clients)) {
    it.live(`offers webhooks as tools, and returns the agent's answer, to a client ${name}`, function* () {
      const server = yield* start()
      yield* server.webhook(yield* server.team("ops"), "{{text}} {{note?}}", {
        ...{ name: "Say", mcp_tool: "say", mcp_description: "Says a text." }
      })
      yield* server.webhook("ops", "no tool {{text}}")
      const client = yield* connected(connect, server.origin, yield* keyFor(server))
      const tools = yield* Effect.promise(() => client.tools())
      expect(tools.map((tool) => tool.name)).toEqual(["say", "get_run", "reply_to_run", "cancel_run", "list_runs"])
      expect(tools[0]).toMatchObject({
        ...{ title: "Say", description: "Says a text." },
        inputSchema: {
          type: "object",
          properties: { text: { type: "string" }, note: { type: "string" } },
          required: ["text"]
        }
      })
      const answer = yield* Effect.promise(() => client.call("say", { text: "hi", note: "there" }))
      expect([textOf(answer), answer.isError]).toEqual(["echo: hi there", undefined])
      const run = yield* server.admin("GET", `/api/runs/${runIdIn(answer)}`)
      expect(run.json).toMatchObject({ status: "success", variables: { text: "hi", note: "there" } })
      const again = yield* Effect.promise(() => client.call("get_run", { run_id: runIdIn(answer) }))
      expect(textOf(again)).toBe("echo: hi there")
      const listed = yield* Effect.promise(() => client.call("list_runs"))
      expect(JSON.parse(textOf(listed))).toMatchObject({ run_id: runIdIn(answer), answer: "echo: hi there" })
    })

    it.live(`says what the agent does meanwhile, and how it failed, to a client ${name}`, function* () {
      const server = yield* start()
      const heard = yield* Deferred.make<void>()
      const leader: Leader = ({ progress, reply }) =>
        Effect.gen(function* () {
          yield* reply({ _tag: "Started" })
          yield* progress({ seq: 0, activity: "Running the tests" })
          yield* Deferred.await(heard)
          yield* reply({ _tag: "Failed", message: "2 tests failed" })
        })
      yield* server.webhook(yield* server.team("ops", leader), "{{text}}", { mcp_tool: "test" })
      const client = yield* connected(connect, server.origin, yield* keyFor(server))
      const lines: Array<string> = []
      const result = yield* Effect.promise(() =>
        client.call("test", { text: "x" }, (line) => {
          lines.push(line)
          if (line === "Running the tests") Effect.runSync(Deferred.succeed(heard, undefined))
        })
      )
      expect(lines).toContain("Running the tests")
      expect([result.isError, textOf(result)]).toEqual([true, "The agent failed: 2 tests failed"])
    })
  }

  it.live("returns the ID of a run that takes longer than a call may wait, which goes on and can be cancelled", () =>
    Effect.gen(function* () {
      const server = yield* start()
      yield* server.webhook(yield* server.team("ops", silent), "{{text}}", { mcp_tool: "think" })
      const client = yield* connected(clients["of 2026"], server.origin, yield* keyFor(server))
      const withProgress = yield* Effect.promise(() => client.call("think", { text: "x" }, () => {}))
      expect(textOf(withProgress)).toContain("the run_id")
      const result = yield* Effect.promise(() => client.call("think", { text: "x" }))
      const run_id = runIdIn(result)
      expect([result.isError, textOf(result)]).toEqual([undefined, expect.stringContaining(`the run_id ${run_id}`)])
      const cancelled = yield* Effect.promise(() => client.call("cancel_run", { run_id }))
      expect(textOf(cancelled)).toBe("The run is cancelled.")
      const run = yield* server.admin("GET", `/api/runs/${run_id}`)
      expect(run.json).toMatchObject({ status: "cancelled", cancelled_by: "api_key" })
      const ended = yield* Effect.promise(() => client.call("get_run", { run_id }))
      expect([ended.isError, textOf(ended)]).toEqual([true, "The run was cancelled."])
    }).pipe(
      Effect.provideService(LongestWait, {
        withProgress: Duration.millis(300),
        withoutProgress: Duration.millis(100)
      })
    )
  )

  it.live("refuses a call as a trigger is refused, in words for the assistant", function* () {
    const server = yield* start({ repo: repoAtNoon })
    yield* server.team("ops")
    const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
    yield* server.webhook("ops", "{{text}}", { mcp_tool: "say", schema, max_runs_per_day: 1 })
    yield* server.webhook("ops", "{{text}}", { mcp_tool: "filtered", accept_if: "text == 'x'" })
    yield* server.webhook(yield* server.team("idle", "no leader"), "{{text}}", { mcp_tool: "idle" })
    const client = yield* connected(clients["of 2026"], server.origin, yield* keyFor(server))
    const call = (name: string, args: object) => Effect.promise(() => client.call(name, args))
    const refused = yield* call("say", { text: 1 })
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining("/variables/text")])
    expect((yield* call("say", { text: "a" })).isError).toBeUndefined()
    expect(textOf(yield* call("say", { text: "a" }))).toContain("max_runs_per_day")
    expect(textOf(yield* call("filtered", { text: "y" }))).toContain("No run was started")
    expect(textOf(yield* call("idle", { text: "y" }))).toContain("Start a leader for the team `idle`")
    expect(textOf(yield* call("get_run", { run_id: "nonsense" }))).toContain("does not exist")
    expect(textOf(yield* call("get_run", {}))).toContain("run_id")
    yield* Effect.tryPromise(() => client.call("unknown", {})).pipe(
      Effect.flip,
      Effect.map(({ cause }) => expect(String(cause)).toContain("Unknown tool: unknown"))
    )
  })

  it.live("keeps each key to its teams and to its own runs", function* () {
    const server = yield* start()
    yield* server.webhook(yield* server.team("ops"), "{{text}}", { mcp_tool: "say" })
    yield* server.webhook(yield* server.team("dev"), "{{text}}", { mcp_tool: "say" })
    const [one, other, admin] = yield* Effect.all([
      connected(clients["of 2026"], server.origin, yield* keyFor(server, { teams: ["ops"] })),
      connected(clients["of 2026"], server.origin, yield* keyFor(server, { name: "other", teams: ["dev"] })),
      connected(clients["of 2026"], server.origin, adminKey)
    ])
    const toolsOf = (client: typeof one) =>
      Effect.map(
        Effect.promise(() => client.tools()),
        (tools) => tools.map(({ name }) => name as string).slice(0, -4)
      )
    expect(yield* toolsOf(one)).toEqual(["say"])
    // Names of other teams' tools neither change this one's nor take its place.
    expect(yield* toolsOf(other)).toEqual(["say"])
    const suffixed = expect.stringMatching(/^say_[0-9a-f]{6}$/)
    expect(yield* toolsOf(admin)).toEqual([suffixed, suffixed])
    const run_id = runIdIn(yield* Effect.promise(() => one.call("say", { text: "mine" })))
    for (const stranger of [other, admin]) {
      for (const tool of ["get_run", "cancel_run"]) {
        const refused = yield* Effect.promise(() => stranger.call(tool, { run_id }))
        expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining("does not exist")])
      }
      expect(textOf(yield* Effect.promise(() => stranger.call("list_runs")))).toContain("No runs")
    }
    const audit = yield* server.admin("GET", "/api/audit?limit=100")
    expect(audit.json.data).toContainEqual(
      expect.objectContaining({ action: "webhook.run_started", key_name: "assistant", after: { run_id } })
    )
    const listing = (key: string) => withTasks(server, key)("tools/list", {})
    expect(yield* listing(yield* keyFor(server, { name: "reader", role: "viewer" }))).toBeUndefined()
    expect(refusal(yield* server.http("POST", "/mcp", { body: {} }))).toStrictEqual([401, "unauthorized"])
    const wrong = { headers: { authorization: "Bearer nonsense" }, body: {} }
    expect(refusal(yield* server.http("POST", "/mcp", wrong))).toStrictEqual([401, "unauthorized"])
  })

  it.live("ends a call that waits when its key is revoked", function* () {
    const server = yield* start()
    const leader: Leader = ({ progress, reply }) =>
      Effect.gen(function* () {
        yield* reply({ _tag: "Started" })
        for (let seq = 0; ; seq++) yield* Effect.delay(progress({ seq, activity: `Step ${seq}` }), "50 millis")
      })
    yield* server.webhook(yield* server.team("ops", leader), "{{text}}", { mcp_tool: "think" })
    const created = yield* server.admin("POST", "/api/keys", { body: { name: "assistant", role: "operator" } })
    const client = yield* connected(clients["of 2026"], server.origin, created.json.key)
    const working = yield* Deferred.make<void>()
    const call = yield* Effect.forkChild(
      Effect.promise(() =>
        client.call("think", { text: "x" }, () => Effect.runSync(Deferred.succeed(working, undefined)))
      )
    )
    yield* Deferred.await(working)
    yield* server.admin("DELETE", `/api/keys/${created.json.api_key.id}`)
    const ended = yield* Fiber.join(call)
    expect([ended.isError, textOf(ended)]).toEqual([true, expect.stringContaining("does not exist")])
  })

  it.live("gives each call a run of its own, although the webhook combines requests", function* () {
    const server = yield* start()
    const coalesce = { key: "text", within: 60 }
    yield* server.webhook(yield* server.team("ops"), "{{text}} {{n}}", { mcp_tool: "say", coalesce })
    const client = yield* connected(clients["of 2026"], server.origin, yield* keyFor(server))
    const answers = yield* Effect.promise(() =>
      Promise.all(["1", "2"].map((n) => client.call("say", { text: "x", n })))
    )
    expect(answers.map(textOf)).toEqual(["echo: x 1", "echo: x 2"])
  })

  it.live("returns what a later attempt answered", function* () {
    const server = yield* start()
    let attempts = 0
    const leader: Leader = (delivery) => (attempts++ === 0 ? failing(delivery) : echo(delivery))
    yield* server.webhook(yield* server.team("ops", leader), "{{text}}", {
      ...{ mcp_tool: "say", retries: { max_retries: 1, backoff_seconds: 1 } }
    })
    const client = yield* connected(clients["of 2026"], server.origin, yield* keyFor(server))
    const failed = yield* Effect.promise(() => client.call("say", { text: "x" }))
    expect([failed.isError, textOf(failed)]).toEqual([true, expect.stringContaining("It is tried again at")])
    const answered = yield* repeatUntil(
      Effect.promise(() => client.call("get_run", { run_id: runIdIn(failed) })),
      ({ isError }) => isError !== true
    )
    expect(textOf(answered)).toBe("echo: x")

    attempts = 0
    const request = withTasks(server, yield* keyFor(server, { name: "with tasks" }))
    const { taskId } = yield* request("tools/call", { name: "say", arguments: { text: "y" } })
    const ended = yield* repeatUntil(request("tasks/get", { taskId }), ({ status }) => status !== "working")
    expect(ended).toMatchObject({ status: "completed", result: { content: [{ text: "echo: y" }] } })
    expect(ended.result.isError).toBeUndefined()
  })

  it.live("shows a disabled or edited webhook to the next call", function* () {
    const server = yield* start()
    const { id } = yield* server.webhook(yield* server.team("ops"), "{{text}}", { mcp_tool: "say" })
    const client = yield* connected(clients["of 2026"], server.origin, yield* keyFor(server))
    const tools = Effect.map(
      Effect.promise(() => client.tools()),
      (all) => all.slice(0, -4).map(({ name }) => name)
    )
    const edit = (body: object) => server.admin("PATCH", `/api/webhooks/${id}`, { body })
    expect(yield* tools).toEqual(["say"])
    yield* edit({ mcp_tool: "speak" })
    expect(yield* tools).toEqual(["speak"])
    yield* edit({ enabled: false })
    expect(yield* tools).toEqual([])
    yield* edit({ enabled: true, mcp_tool: "get_run" })
    expect(yield* tools).toEqual([expect.stringMatching(/^get_run_[0-9a-f]{6}$/)])
    for (const mcp_tool of ["1st", "a b", ""]) {
      expect(refusal(yield* edit({ mcp_tool }))).toStrictEqual([422, "invalid"])
    }
  })

  it.live(
    "puts an agent's question to the user of a client that can ask, and goes on in the conversation",
    function* () {
      const server = yield* start()
      const leader: Leader = ({ prompt, reply }) =>
        reply(
          prompt.prompt === "deploy"
            ? { _tag: "Answered", response: "Where to?", report: { asks: ["staging", "production"] } }
            : { _tag: "Answered", response: `deployed to ${prompt.prompt}` }
        )
      yield* server.webhook(yield* server.team("ops", leader), "{{text}}", { mcp_tool: "do" })
      const key = yield* keyFor(server)
      const client = yield* connected(asking("staging"), server.origin, key)
      const result = yield* Effect.promise(() => client.call("do", { text: "deploy" }))
      expect(textOf(result)).toBe("deployed to staging")

      const simple = yield* connected(clients["of 2025"], server.origin, key)
      const question = yield* Effect.promise(() => simple.call("do", { text: "deploy" }))
      expect(textOf(question)).toContain("Where to?\n")
      expect(textOf(question)).toContain("Suggested reply: production")
      const replied = yield* Effect.promise(() =>
        simple.call("reply_to_run", { run_id: runIdIn(question), message: "production" })
      )
      expect(textOf(replied)).toBe("deployed to production")
    }
  )

  it.live("makes a run a task for a client with tasks", function* () {
    const server = yield* start()
    const done = yield* Deferred.make<void>()
    const leader: Leader = (delivery) => Effect.andThen(Deferred.await(done), echo(delivery))
    yield* server.webhook(yield* server.team("ops", leader), "{{text}}", { mcp_tool: "say" })
    yield* server.webhook(yield* server.team("slow", silent), "{{text}}", { mcp_tool: "think" })
    yield* server.webhook(yield* server.team("broken", failing), "{{text}}", { mcp_tool: "fail" })
    const request = withTasks(server, yield* keyFor(server))
    const created = yield* request("tools/call", { name: "say", arguments: { text: "hi" } })
    expect([isCreateTaskResultV2(created), created.status]).toEqual([true, "working"])
    const { taskId } = created
    const task = (id: string) => request("tasks/get", { taskId: id })
    expect(yield* task(taskId)).toMatchObject({ status: "working", taskId })
    yield* Deferred.succeed(done, undefined)
    const ended = (id: string) => repeatUntil(task(id), ({ status }) => status !== "working")
    const completed = yield* ended(taskId)
    expect(isDetailedTaskV2(completed)).toBe(true)
    expect(completed).toMatchObject({
      status: "completed",
      result: { content: [{ type: "text", text: "echo: hi" }] }
    })

    const failed = yield* request("tools/call", { name: "fail", arguments: { text: "hi" } })
    expect(yield* ended(failed.taskId)).toMatchObject({ status: "completed", result: { isError: true } })

    const slow = yield* request("tools/call", { name: "think", arguments: { text: "hi" } })
    expect(yield* request("tasks/cancel", { taskId: slow.taskId })).not.toHaveProperty("code")
    expect(yield* task(slow.taskId)).toMatchObject({ status: "cancelled" })
    expect(yield* task(unusedId)).toMatchObject({ code: -32602 })
    const other = withTasks(server, yield* keyFor(server, { name: "other" }))
    expect(yield* other("tasks/get", { taskId })).toMatchObject({ code: -32602 })
  })

  it.live("asks the user of a client with tasks in the task, which goes on with the reply", function* () {
    const server = yield* start()
    const leader: Leader = ({ prompt, reply }) =>
      reply(
        prompt.prompt === "deploy"
          ? { _tag: "Answered", response: "Where to?", report: { asks: [] } }
          : { _tag: "Answered", response: `deployed to ${prompt.prompt}` }
      )
    yield* server.webhook(yield* server.team("ops", leader), "{{text}}", { mcp_tool: "do" })
    const request = withTasks(server, yield* keyFor(server), { elicitation: { form: {} } })
    const { taskId } = yield* request("tools/call", { name: "do", arguments: { text: "deploy" } })
    const until = (wanted: string) => repeatUntil(request("tasks/get", { taskId }), ({ status }) => status === wanted)
    const asked = yield* until("input_required")
    expect(isDetailedTaskV2(asked)).toBe(true)
    expect(asked.inputRequests.reply.params.message).toBe("Where to?")
    yield* request("tasks/update", {
      ...{ taskId, inputResponses: { reply: { action: "accept", content: { reply: "staging" } } } }
    })
    const completed = yield* until("completed")
    expect(textOf(completed.result)).toBe("deployed to staging")
  })

  it.live("closes the connection after a stream when the client asks for that", function* () {
    const server = yield* start()
    yield* server.webhook(yield* server.team("ops"), "{{text}}", { name: "Say", mcp_tool: "say" })
    const params = { name: "say", arguments: { text: "hi" }, _meta: { progressToken: 1 } }
    const { body, headers } = yield* Effect.promise(
      () =>
        new Promise<{ readonly headers: IncomingHttpHeaders; readonly body: string }>((resolve, reject) => {
          const options = {
            ...{ method: "POST", agent: false },
            headers: {
              ...{ authorization: `Bearer ${adminKey}`, "content-type": "application/json", connection: "close" },
              accept: "application/json, text/event-stream"
            }
          }
          const sent = request(`${server.origin}/mcp`, options, (response) => {
            let body = ""
            response.on("data", (chunk) => (body += chunk))
            response.on("end", () => resolve({ headers: response.headers, body }))
          })
          sent.on("error", reject)
          sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }))
        })
    )
    expect(headers).toMatchObject({ connection: "close", "content-type": "text/event-stream" })
    expect(body).toContain('"id":1')
  })

  it.live("answers what is no request of the protocol in its own way", function* () {
    const server = yield* start()
    const headers = { authorization: `Bearer ${adminKey}`, accept: "application/json, text/event-stream" }
    const garbage = yield* server.http("POST", "/mcp", {
      ...{ raw: "{", headers: { ...headers, "content-type": "application/json" } }
    })
    expect(garbage).toMatchObject({ status: 400, json: { jsonrpc: "2.0", error: { code: -32700 } } })
    expect((yield* server.http("GET", "/mcp", { headers })).status).toBe(405)
    const batch = yield* server.http("POST", "/mcp", { body: [{ jsonrpc: "2.0", id: 1, method: "ping" }], headers })
    expect(refusal(batch)).toStrictEqual([400, "invalid_body"])
    const large = { raw: "x".repeat(2_000_000), headers: { ...headers, "content-type": "application/json" } }
    expect(refusal(yield* server.http("POST", "/mcp", large))).toStrictEqual([413, "body_too_large"])
  })
})
