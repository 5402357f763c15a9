import { Effect, Fiber } from "effect"
import * as Program from "../cli/Program.ts"
import { leadOn } from "../support/AmqpLeader.ts"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { Gate } from "../support/Gate.ts"
import { serve } from "../support/InProcess.ts"
import { describe, expect, it } from "../support/It.ts"
import { until, untilEffect } from "../support/Until.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"
const headers = { authorization: `Bearer ${ADMIN_API_KEY}`, "content-type": "application/json" }

/** A server with a team whose leader answers "done" when the gate is open, and a webhook for it. */
const world = (variables: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const environment = { DATABASE_URL: yield* freshDatabase, AMQP_URL: yield* freshVhost, ADMIN_API_KEY, ...variables }
    const server = yield* Program.serve(environment)
    const api = (method: string, path: string, body?: unknown) =>
      Effect.promise(async () => {
        const answer = await fetch(`${server.url}${path}`, {
          method,
          headers,
          body: body ? JSON.stringify(body) : null
        })
        const text = await answer.text()
        return { status: answer.status, headers: answer.headers, body: text === "" ? undefined : JSON.parse(text) }
      })
    yield* api("POST", "/api/teams", { team: "ops" })
    const gate = new Gate()
    const handler = () =>
      Effect.as(
        Effect.promise(() => gate.opened),
        "done"
      )
    yield* leadOn(environment.AMQP_URL, "ops", handler)
    const team = api("GET", "/api/teams/ops")
    yield* Effect.promise(() =>
      until("the leader is connected", async () => (await Effect.runPromise(team)).body.running)
    )
    const draft = { name: "slow", team: "ops", prompt_template: "{{text}}", timeout_seconds: 60 }
    const { token, webhook } = (yield* api("POST", "/api/webhooks", draft)).body
    const trigger = api("POST", `/webhook/trigger/${token}?wait=true`, { variables: { text: "x" } })
    const started = Effect.promise(() =>
      until("the run has started", async () => {
        const { body } = await Effect.runPromise(api("GET", `/api/webhooks/${webhook.id}/runs`))
        return body.data[0]?.started_at !== undefined
      })
    )
    return { server, api, trigger, started, environment, gate }
  })

/** Each as its users start it, without the build that `npm start` begins with. */
const npmStart = ["npm", "start", "--ignore-scripts"] as const
const onTerminal = ["script", "-qec", `exec ${npmStart.join(" ")}`, "/dev/null"] as const

describe("the server that npm start has started", () => {
  const isServing = (url: string) =>
    Effect.promise(() =>
      fetch(`${url}/health/live`).then(
        ({ ok }) => ok,
        () => false
      )
    )

  it.live("stops in order when npm gets SIGTERM", function* () {
    const { child, exitCode, url } = yield* Program.serveBy(npmStart, { DATABASE_URL: yield* freshDatabase })
    child.kill("SIGTERM")
    expect(yield* exitCode).toBe(0)
    expect(yield* isServing(url)).toBe(false)
  })

  it.live("stops in order at Ctrl-C, which the terminal sends to both, and npm once more", function* () {
    const variables = { DATABASE_URL: yield* freshDatabase, SHELL: "/bin/sh" }
    const { child, exitCode, url } = yield* Program.serveBy(onTerminal, variables)
    child.stdin!.write("\x03")
    expect(yield* exitCode).toBe(0)
    expect(yield* isServing(url)).toBe(false)
  })
})

describe("a stop", () => {
  it.live("answers waiting callers, accepts nothing new, and does not wait for event streams", function* () {
    const { api, gate, server, started, trigger } = yield* world({ SHUTDOWN_GRACE: "1 hour" })
    const caller = yield* Effect.forkChild(trigger)
    yield* started
    const stream = yield* Effect.promise(() => fetch(`${server.url}/api/events`, { headers }))
    expect(stream.status).toBe(200)

    const ended = yield* Effect.forkChild(server.end("SIGTERM"))
    yield* Effect.promise(() =>
      until(
        "the server is not ready",
        async () => (await Effect.runPromise(api("GET", "/health/ready"))).body.detail === "The server is stopping."
      )
    )
    const refused = yield* trigger
    expect(refused).toMatchObject({ status: 503, body: { code: "unavailable" } })
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/)

    gate.open()
    const answered = yield* Fiber.join(caller)
    expect(answered).toMatchObject({ status: 200, body: { status: "success", response: "done" } })
    expect((yield* Fiber.join(ended)).code).toBe(0)
    yield* Effect.promise(async () => stream.body?.cancel().catch(() => {}))
  })

  it.live("answers waiting callers with 503 when the grace period is over; their runs continue", function* () {
    const { environment, gate, server, started, trigger } = yield* world({ SHUTDOWN_GRACE: "1 s" })
    const caller = yield* Effect.forkChild(trigger)
    yield* started
    expect((yield* server.end("SIGTERM")).code).toBe(0)
    const { body, headers: responseHeaders, status } = yield* Fiber.join(caller)
    expect({ status, body }).toMatchObject({ status: 503, body: { code: "unavailable" } })
    expect(responseHeaders.get("retry-after")).toMatch(/^\d+$/)

    gate.open()
    const again = yield* serve(environment)
    const run = () =>
      fetch(`${again.url}/api/runs/${body.run_id}`, { headers }).then((answer) => answer.json() as Promise<any>)
    const ended = yield* Effect.promise(() =>
      until("the run has ended", async () => {
        const seen = await run()
        return seen.finished_at === undefined ? undefined : seen
      })
    )
    expect(ended).toMatchObject({ status: "success", conversation: { response: "done" } })
  })

  it.live("takes signals that come within half a second for one", function* () {
    const server = yield* Program.serve({ DATABASE_URL: yield* freshDatabase, ADMIN_API_KEY })
    const begun = performance.now()
    const ended = yield* Effect.forkChild(server.end("SIGTERM"))
    yield* Effect.promise(() =>
      until("half a second has passed", () => performance.now() - begun > 500 || !server.signal("SIGTERM"))
    )
    expect((yield* Fiber.join(ended)).code).toBe(0)
  })

  it.live("ends immediately at a second signal", function* () {
    const { api, server, started, trigger } = yield* world({ SHUTDOWN_GRACE: "1 hour" })
    const caller = yield* Effect.forkChild(Effect.exit(trigger))
    yield* started
    const first = yield* Effect.forkChild(server.end("SIGTERM"))
    yield* Effect.promise(() =>
      until(
        "the server is not ready",
        async () => (await Effect.runPromise(api("GET", "/health/ready"))).body.detail === "The server is stopping."
      )
    )
    yield* untilEffect(
      "the server says what it waits for",
      Effect.sync(() => /Stopping: up to 1h for \d+ requests? to be answered\./.test(server.log()))
    )
    yield* untilEffect(
      "a later signal has ended the server",
      Effect.sync(() => first.pollUnsafe() !== undefined || void server.signal("SIGTERM"))
    )
    // Ended by the signal itself: no exit code.
    expect((yield* Fiber.join(first)).code).toBeNull()
    yield* Fiber.join(caller)
  })
})
