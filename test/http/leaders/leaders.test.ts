import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { Effect, Fiber, Logger } from "effect"
import { ProgressStore } from "../../../src/repo/run/ProgressStore.ts"
import { describe, expect, it } from "../../support/It.ts"
import { repeatUntil } from "../../support/Until.ts"
import { refusal } from "../Client.ts"
import { start, unusedId } from "../Server.ts"

type Server = Effect.Success<ReturnType<typeof start>>

/** A key of the team's leader, and requests with it. */
const newKey = ({ admin, http }: Server, team: string) =>
  Effect.map(admin("POST", `/api/teams/${team}/leader-keys`, { body: { name: "test" } }), ({ json }) => {
    const headers = { authorization: `Bearer ${json.key}` }
    return {
      id: json.leader_key.id as string,
      key: json.key as string,
      get: (path: string) => http("GET", path, { headers }),
      post: (path: string, body: object) => http("POST", path, { headers, body })
    }
  })

type Key = Effect.Success<ReturnType<typeof newKey>>

const newLeader = ({ post }: Key) => {
  const leader = randomUUID()
  return {
    leader,
    next: (wait_seconds = 20) => post("/leader/next", { leader, wait_seconds }),
    work: (run_id: string) => post("/leader/work", { leader, run_id }),
    leave: post("/leader/leave", { leader })
  }
}

const reply = ({ post }: Key, { correlation_id }: { correlation_id: string }, type: string, fields: object = {}) =>
  post("/leader/reply", { correlation_id, type, ...fields })

const untilRunning = ({ admin }: Server, team: string, isRunning = true) =>
  repeatUntil(admin("GET", `/api/teams/${team}`), ({ json }) => json.running === isRunning)

/** A server with a team that has one leader, which waits for a prompt. */
const led = Effect.gen(function* () {
  const server = yield* start()
  yield* server.team("ops", "no leader")
  const key = yield* newKey(server, "ops")
  const leader = newLeader(key)
  const first = yield* Effect.forkScoped(leader.next())
  yield* untilRunning(server, "ops")
  const hook = yield* server.webhook("ops")
  const trigger = (text: string, query = "") =>
    server.http("POST", hook.path + query, { body: { variables: { text } } })
  return { ...server, key, leader, first: Fiber.join(first), trigger, hook }
})

describe("leaders over HTTP", () => {
  it.live("report a usage limit: the run is queued again, and its team rests until it is resumed", function* () {
    const { admin, first, http, key, leader, trigger } = yield* led
    const { run_id } = (yield* trigger("one")).json
    const { json: prompt } = yield* first
    const until = new Date(Date.now() + 3_600_000).toISOString()
    const limit = { message: "You've hit your limit · resets 2pm", limited: { until } }
    expect((yield* reply(key, prompt, "error", limit)).status).toBe(204)
    const run = (yield* admin("GET", `/api/runs/${run_id}`)).json
    expect(run).toMatchObject({ status: "queued", rests: 1 })
    expect(run.waits_for).toEqual({
      code: "usage_limit",
      message: `The agent of the team ops has reached a usage limit: “${limit.message}”. This run continues when the limit ends, or when the team is resumed.`,
      until
    })
    const team = (yield* admin("GET", "/api/teams/ops")).json
    expect(team).toMatchObject({ queued: 1, resting_until: until, resting_reason: limit.message })
    expect(Date.parse(team.resting_since)).toBeLessThan(Date.parse(until))
    expect((yield* http("GET", "/metrics")).text).toMatch(/^webhook_team_resting\{team="ops"\} 1$/m)
    expect((yield* leader.next(0)).status).toBe(204)
    // The leader may repeat its reply.
    expect((yield* reply(key, prompt, "error", limit)).status).toBe(204)
    expect((yield* admin("GET", `/api/runs/${run_id}`)).json.rests).toBe(1)

    const resumed = (yield* admin("POST", "/api/teams/ops/resume")).json
    for (const field of ["resting_since", "resting_until", "resting_reason"]) expect(resumed).not.toHaveProperty(field)
    const [event] = (yield* admin("GET", "/api/audit?object=ops")).json.data
    expect(event.action).toBe("team.resumed")
    const again = (yield* leader.next()).json
    expect(again).toMatchObject({ run_id, redelivered: false })
    expect(again.correlation_id).not.toBe(prompt.correlation_id)
    yield* reply(key, prompt, "error", limit)
    yield* reply(key, again, "response", { response: "Done" })
    expect((yield* admin("GET", `/api/runs/${run_id}`)).json).toMatchObject({ status: "success", rests: 1 })
    // A limit without a time that can be read is one all the same; anything else is an error.
    for (const [limited, status] of [
      [{ until: "2pm" }, "queued"],
      ["yes", "error"]
    ]) {
      const next = yield* Effect.forkChild(leader.next())
      const { run_id } = (yield* trigger("two")).json
      yield* reply(key, (yield* Fiber.join(next)).json, "error", { message: "No", limited })
      expect((yield* admin("GET", `/api/runs/${run_id}`)).json.status).toBe(status)
      if (status === "queued") yield* admin("POST", `/api/runs/${run_id}/cancel`)
      yield* admin("POST", "/api/teams/ops/resume")
    }
  })

  it.live(
    "get what the webhook asks of the agent, as the run shows it, and say at which limit they stopped",
    function* () {
      const { admin, first, hook, http, key, leader } = yield* led
      const agent = { model: "haiku", permissions: "read-only", max_turns: 7, max_cost: 0.5 }
      const settings = {
        ...{ agent_model: "haiku", agent_permissions: "read-only", max_turns: 7, max_cost: 0.5 },
        workspace_ref: "refs/heads/{{text}}"
      }
      yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: settings })
      const body = { variables: { text: "one" } }
      const waiting = yield* Effect.forkChild(http("POST", `${hook.path}?wait=true`, { body }))
      const { json: prompt } = yield* first
      expect(prompt.agent).toEqual({ ...agent, workspace_ref: "refs/heads/one" })
      // An edit changes nothing in a run that was accepted before.
      yield* admin("PATCH", `/api/webhooks/${hook.id}`, { body: { max_turns: null, agent_model: "opus" } })
      const limit = { code: "turns_exceeded", message: "7 turns", response: "Half of it" }
      yield* reply(key, prompt, "error", limit)
      const { json, status } = yield* Fiber.join(waiting)
      expect([status, json.error]).toEqual([502, { code: "turns_exceeded", message: "7 turns" }])
      const run = yield* admin("GET", `/api/runs/${prompt.run_id}`)
      expect(run.json).toMatchObject({ agent, conversation: { response: "Half of it" } })
      // Who replies to the run gives its agent no more rights, nor who sends that again.
      const replied = yield* admin("POST", `/api/runs/${prompt.run_id}/reply`, { body: { message: "Go on." } })
      const next = yield* leader.next()
      expect(next.json).toMatchObject({ prompt: "Go on.", source: "chat", agent })
      // Its folder stays where the conversation is.
      expect(next.json.agent).not.toHaveProperty("workspace_ref")
      yield* reply(key, next.json, "response", { response: "Done" })
      yield* admin("POST", `/api/runs/${replied.json.message_id}/replay`)
      expect((yield* leader.next()).json).toMatchObject({ prompt: "Go on.", agent })
    }
  )

  it.live("leave no line in the log for what they repeat all the time, unless it is refused", function* () {
    const lines: Array<string> = []
    const logger = Logger.make((entry) => void lines.push(Logger.formatLogFmt.log(entry)))
    const { first, key, leader, trigger } = yield* Effect.provide(
      led,
      Logger.layer([logger], { mergeWithExisting: true })
    )
    yield* trigger("one")
    const { json: prompt } = yield* first
    expect((yield* leader.work(prompt.run_id)).status).toBe(200)
    expect((yield* leader.work(unusedId)).status).toBe(409)
    yield* reply(key, prompt, "progress", { seq: 0, activity: "Reading" })
    yield* reply(key, prompt, "response", { response: "Done" })
    yield* leader.leave
    const ofLeader = Effect.sync(() =>
      lines.flatMap((line) => /"POST (\/leader\/.*?)".* status=(\d+)/.exec(line)?.slice(1).join(" ") ?? [])
    )
    expect(yield* repeatUntil(ofLeader, (all) => all.at(-1)!.includes("/leader/leave"))).toEqual([
      "/leader/work 409",
      "/leader/reply 204",
      "/leader/leave 204"
    ])
  })

  it.live("cannot give other codes, nor an answer with another error", function* () {
    const { admin, first, key, trigger } = yield* led
    yield* trigger("one")
    const { json: prompt } = yield* first
    expect(prompt).not.toHaveProperty("agent")
    yield* reply(key, prompt, "error", { code: "team_gone", message: "no disk", response: "Half of it" })
    const run = yield* admin("GET", `/api/runs/${prompt.run_id}`)
    expect(run.json.error).toEqual({ code: "agent_error", message: "no disk" })
    expect(run.json.conversation).not.toHaveProperty("response")
  })

  it.live("get a prompt as on the broker, and their answer reaches the caller with its report", function* () {
    const { first, hook, key, trigger } = yield* led
    const waiting = yield* Effect.forkChild(trigger("one", "?wait=true"))
    const { json: prompt, status } = yield* first
    expect(status).toBe(200)
    expect(prompt).toEqual({
      run_id: expect.any(String),
      source: "webhook",
      webhook: { id: hook.id, name: "a webhook" },
      prompt: "one",
      template: "{{text}}",
      values: { text: "one" },
      deadline: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      correlation_id: expect.any(String),
      traceparent: expect.any(String),
      redelivered: false,
      cancelled: false
    })
    const links = [{ title: "Pull request", url: "https://example.com/1" }]
    const answer = yield* reply(key, prompt, "response", { response: "done", links, usage: { input_tokens: -1 } })
    expect([answer.status, answer.text]).toEqual([204, ""])
    expect((yield* Fiber.join(waiting)).json).toMatchObject({ status: "success", response: "done", links })
  })

  it.live("report progress and failures", function* () {
    const { first, key, repo, trigger } = yield* led
    const waiting = yield* Effect.forkChild(trigger("one", "?wait=true"))
    const { json: prompt } = yield* first
    yield* reply(key, prompt, "progress", { seq: 0, text: "a", activity: "reading" })
    yield* reply(key, prompt, "progress", { seq: 1, text: "b" })
    const [news] = yield* Effect.flatMap(ProgressStore, (store) =>
      store.newsOf([{ run_id: prompt.run_id, position: 0 }])
    ).pipe(Effect.provide(repo))
    expect(news?.progress?.texts.map(({ text }) => text).join("")).toBe("ab")
    expect((yield* reply(key, prompt, "error", { message: "no disk" })).status).toBe(204)
    expect((yield* Fiber.join(waiting)).json.error).toEqual({ code: "agent_error", message: "no disk" })
  })

  it.live("learn of a cancelled run at once, and lose the prompt that is finished", function* () {
    const { admin, first, key, leader, trigger } = yield* led
    const { json: run } = yield* trigger("one")
    const { json: prompt } = yield* first
    const working = yield* Effect.forkChild(leader.work(run.run_id))
    yield* admin("POST", `/api/runs/${run.run_id}/cancel`)
    expect((yield* Fiber.join(working)).json).toEqual({ cancelled: true })
    expect((yield* leader.work(run.run_id)).json).toEqual({ cancelled: true })
    yield* reply(key, prompt, "error", { message: "stopped" })
    expect(refusal(yield* leader.work(run.run_id))).toEqual([409, "prompt_lost"])
  })

  it.live("get nothing when their time is up, and the prompt of a leader that leaves", function* () {
    const { first, key, leader, trigger } = yield* led
    yield* trigger("one")
    const { json: prompt } = yield* first
    const standby = newLeader(key)
    expect((yield* standby.next(0)).status).toBe(204)
    const waiting = yield* Effect.forkChild(standby.next())
    expect((yield* leader.leave).status).toBe(204)
    expect((yield* Fiber.join(waiting)).json).toMatchObject({ run_id: prompt.run_id, redelivered: true })
  })

  it.live("stay away when they have left, also if a request of theirs still waits", function* () {
    const server = yield* led
    const { key, leader } = server
    const standby = newLeader(key)
    const waiting = yield* Effect.forkChild(standby.next())
    yield* leader.leave
    const sent = server.admin("POST", "/api/teams/ops/messages", { body: { message: "one" } })
    yield* repeatUntil(sent, ({ status }) => status === 202)
    expect((yield* Fiber.join(waiting)).json).toMatchObject({ prompt: "one", redelivered: false })
  })

  it.live("need a key of the team, which opens nothing else", function* () {
    const server = yield* led
    const { admin, first, http, key, trigger } = server
    yield* server.team("other", "no leader")
    const other = yield* newKey(server, "other")
    expect((yield* key.get("/leader/team")).json).toEqual({ team: "ops" })
    const [listed] = (yield* admin("GET", "/api/teams/ops/leader-keys")).json.data
    expect(listed.last_used_at).toEqual(expect.any(String))
    yield* trigger("one")
    const { json: prompt } = yield* first
    expect(refusal(yield* reply(other, prompt, "response", { response: "x" }))).toEqual([404, "not_found"])
    expect((yield* newLeader(other).next(0)).status).toBe(204)
    expect((yield* newLeader(other).work(prompt.run_id)).status).toBe(409)
    for (const path of ["/api/teams", "/api/runs", `/api/runs/${prompt.run_id}`]) {
      expect((yield* key.get(path)).status).toBe(401)
    }
    const wrong = `${key.key.slice(0, -1)}${key.key.endsWith("x") ? "y" : "x"}`
    const refused = yield* Effect.forEach(
      [{}, { authorization: "Bearer x" }, { authorization: `Bearer ${wrong}` }],
      (headers) => http("GET", "/leader/team", { headers })
    )
    for (const answer of refused) expect(refusal(answer)).toEqual([401, "unauthorized"])
    expect(new Set(refused.map(({ text }) => text)).size).toBe(1)
    const admins = yield* admin("GET", "/leader/team")
    expect(admins.status).toBe(401)
  })

  it.live("are refused as soon as their key is revoked, also while they wait", function* () {
    const server = yield* led
    const { admin, first, key } = server
    yield* admin("DELETE", `/api/teams/ops/leader-keys/${key.id}`)
    expect(refusal(yield* first)).toEqual([401, "unauthorized"])
    expect((yield* key.get("/leader/team")).status).toBe(401)
    yield* untilRunning(server, "ops", false)
  })

  it.live("are told what is wrong with a request, and more fields are ignored", function* () {
    const { key, leader } = yield* led
    const faults = (path: string, body: object) =>
      Effect.map(key.post(path, body), ({ json, status }) => [status, json.errors.map((it: any) => it.pointer)])
    expect(yield* faults("/leader/next", {})).toEqual([422, ["/leader"]])
    expect(yield* faults("/leader/next", { leader: "x", wait_seconds: 21 })).toEqual([
      422,
      ["/leader", "/wait_seconds"]
    ])
    expect(yield* faults("/leader/work", { leader: leader.leader })).toEqual([422, ["/run_id"]])
    expect(yield* faults("/leader/reply", { type: "response" })).toEqual([422, ["/correlation_id"]])
    const correlation_id = "x"
    expect(yield* faults("/leader/reply", { correlation_id, type: "x" })).toEqual([422, ["/type"]])
    expect(yield* faults("/leader/reply", { correlation_id, type: "response" })).toEqual([422, ["/response"]])
    expect(yield* faults("/leader/reply", { correlation_id, type: "error" })).toEqual([422, ["/message"]])
    expect(yield* faults("/leader/reply", { correlation_id, type: "progress", text: "x" })).toEqual([422, ["/seq"]])
    const more = { leader: randomUUID(), wait_seconds: 0, later: true }
    expect((yield* key.post("/leader/next", more)).status).toBe(204)
  })

  it.live("may answer with 1 MiB", function* () {
    const { first, key, trigger } = yield* led
    const waiting = yield* Effect.forkChild(trigger("one", "?wait=true"))
    const { json: prompt } = yield* first
    const over = yield* reply(key, prompt, "response", { response: "x".repeat(16 * 1024 * 1024) })
    expect(refusal(over)).toEqual([413, "body_too_large"])
    expect(over.json.detail).not.toContain("WEBHOOK_MAX_BODY")
    const response = "x".repeat(1024 * 1024)
    expect((yield* reply(key, prompt, "response", { response })).status).toBe(204)
    expect((yield* Fiber.join(waiting)).json.response).toBe(response)
  })

  it.live("end their run as an error with a longer answer, of which the first 64 KiB are kept", function* () {
    const { admin, first, key, trigger } = yield* led
    const waiting = yield* Effect.forkChild(trigger("one", "?wait=true"))
    const { json: prompt } = yield* first
    const response = "x".repeat(1024 * 1024 + 1)
    const links = [{ title: "Report", url: "https://example.com/report" }]
    expect((yield* reply(key, prompt, "response", { response, links })).status).toBe(204)
    const error = {
      code: "answer_too_large",
      message: "The answer is larger than 1 MiB. Its first 64 KiB are kept."
    }
    const failed = yield* Fiber.join(waiting)
    expect([failed.status, failed.json]).toMatchObject([502, { status: "error", run_id: prompt.run_id, error, links }])
    const { json: run } = yield* admin("GET", `/api/runs/${prompt.run_id}`)
    expect(run).toMatchObject({ status: "error", error, links })
    expect(run.conversation.response).toBe(response.slice(0, 65_536))
    // The first answer counts.
    yield* reply(key, prompt, "response", { response: "short" })
    expect((yield* admin("GET", `/api/runs/${prompt.run_id}`)).json.error).toEqual(error)
  })

  it.live("are at most 100 that wait with one key", function* () {
    const server = yield* led
    const key = yield* newKey(server, "ops")
    for (const _ of Array.from({ length: 100 })) {
      yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignore(newLeader(key).next()), "20 millis")))
    }
    const refused = yield* repeatUntil(newLeader(key).next(0), ({ status }) => status !== 204)
    expect(refusal(refused)).toEqual([429, "too_many_streams"])
  })

  it.live("do not hold up a stopping server, and get prompts while it waits for callers", function* () {
    const { key, leader, first, shutdown, trigger } = yield* led
    const waiting = yield* Effect.forkChild(trigger("one", "?wait=true"))
    const { json: prompt } = yield* first
    yield* shutdown.begin
    const next = yield* Effect.forkChild(leader.next())
    yield* reply(key, prompt, "response", { response: "in time" })
    expect((yield* Fiber.join(waiting)).json.response).toBe("in time")
    yield* shutdown.stopWaiting
    expect(refusal(yield* Fiber.join(next))).toEqual([503, "unavailable"])
    expect(refusal(yield* leader.work(prompt.run_id))).toEqual([409, "prompt_lost"])
    expect(refusal(yield* leader.next())).toEqual([503, "unavailable"])
  })

  it.live("whose connection breaks are replaced within seconds", function* () {
    const server = yield* start()
    yield* server.team("ops", "no leader")
    const key = yield* newKey(server, "ops")
    const body = JSON.stringify({ leader: randomUUID() })
    const socket = connect(server.port, "127.0.0.1")
    socket.write(
      `POST /leader/next HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
    yield* untilRunning(server, "ops")
    yield* server.admin("POST", "/api/teams/ops/messages", { body: { message: "one" } })
    const text = yield* Effect.callback<string>((resume) => {
      socket.once("data", (data) => resume(Effect.succeed(data.toString())))
    })
    expect(text).toContain('"prompt":"one"')
    socket.destroy()
    const { json } = yield* repeatUntil(newLeader(key).next(), ({ status }) => status === 200)
    expect(json).toMatchObject({ prompt: "one", redelivered: true })
  })
})
