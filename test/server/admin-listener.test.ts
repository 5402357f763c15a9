import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Fiber } from "effect"
import { refusedServer } from "../cli/CommandLine.ts"
import * as Program from "../cli/Program.ts"
import { type Answer, call, refusal } from "../http/Client.ts"
import { leadOn } from "../support/AmqpLeader.ts"
import { freshDatabase, freshVhost } from "../support/fresh.ts"
import { Gate } from "../support/Gate.ts"
import * as InProcess from "../support/InProcess.ts"
import { describe, expect, it } from "../support/It.ts"
import { receiver } from "../support/Receiver.ts"
import { until, untilEffect } from "../support/Until.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"
const headers = { authorization: `Bearer ${ADMIN_API_KEY}` }

const withListener = Effect.gen(function* () {
  return { DATABASE_URL: yield* freshDatabase, ADMIN_API_KEY, ADMIN_LISTEN: "127.0.0.1:0" }
})

const callsTo = (addresses: ReadonlyArray<string>) => {
  const [callers, management] = addresses.map((address) => call(`http://${address}`))
  const ports = addresses.map((address) => Number(new URL(`http://${address}`).port))
  return { callers: callers!, management: management!, ports }
}

/** A server whose management has a listener of its own; both are called at their addresses of this machine. */
const serve = (variables: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const { addresses, welcome } = yield* InProcess.serve({ ...(yield* withListener), ...variables })
    return { ...callsTo(addresses), welcome }
  })

/** The same as a process. */
const start = (variables: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const server = yield* Program.serve({ ...(yield* withListener), ...variables })
    const log = /Listening on (127\.0\.0\.1:\d+) and (127\.0\.0\.1:\d+)/
    const [, ...addresses] = yield* Effect.promise(() =>
      until("it says where it listens", () => log.exec(server.log()) ?? undefined)
    )
    return { ...callsTo(addresses), server }
  })

const newWebhook = (http: ReturnType<typeof call>, team: string, more: object = {}) =>
  Effect.gen(function* () {
    const body = { name: "a webhook", team, prompt_template: "{{text}}", ...more }
    const { json } = yield* http("POST", "/api/webhooks", { headers, body })
    return json as { readonly trigger_url: string; readonly token: string; readonly webhook: { readonly id: string } }
  })

const sample = { body: { variables: { text: "hello" } } }

/** A browser's, from a page of this origin. */
const fromPage = (host: string) => ({ origin: `http://${host}`, "sec-fetch-site": "same-origin" })

describe("a management with a listener of its own", () => {
  it.live("is served there, and the first listener has triggers and health alone", function* () {
    const { callers, management, ports } = yield* serve()
    const { token, trigger_url } = yield* newWebhook(management, "demo")
    // Without PUBLIC_URL: where the management was called, at the callers' port.
    expect(trigger_url).toBe(`http://127.0.0.1:${ports[0]}/webhook/trigger/${token}`)
    const paths = ["/", "/webhooks", "/icon.svg", "/api/teams", "/api/session", "/metrics", "/docs", "/openapi.json"]
    for (const path of paths) {
      expect((yield* management("GET", path, { headers })).status, path).toBe(200)
      const hidden = yield* callers("GET", path, { headers: { ...headers, accept: "text/html" } })
      expect(refusal(hidden), path).toStrictEqual([404, "not_found"])
    }
    for (const http of [callers, management]) {
      // Not while its database needs a second for an answer.
      yield* untilEffect(
        "it is ready",
        Effect.map(http("GET", "/health/ready"), ({ status }) => status === 200)
      )
      const answered = yield* http("POST", `/webhook/trigger/${token}?wait=true`, sample)
      expect(answered.json).toMatchObject({ status: "success", response: expect.stringContaining("hello") })
      const run = yield* http("GET", `/webhook/trigger/${token}/runs/${answered.json.run_id}`)
      expect(run.json).toMatchObject({ status: "success" })
    }
  })

  it.live("has the origin that it is called at, while trigger URLs begin with PUBLIC_URL", function* () {
    const PUBLIC_URL = "https://hooks.example.com/in"
    const { callers, management, ports, welcome } = yield* serve({ PUBLIC_URL })
    expect(welcome).toMatch(new RegExp(`Web UI and API +http://localhost:${ports[1]}/\n`))
    expect(welcome).toMatch(new RegExp(`Triggers +${PUBLIC_URL}/webhook/trigger/\n`))
    const { trigger_url } = yield* newWebhook(management, "demo")
    expect(trigger_url).toMatch(/^https:\/\/hooks\.example\.com\/in\/webhook\/trigger\/whk_/)
    const facts = yield* management("GET", "/api/server", { headers })
    expect(facts.json.public_url).toBe(PUBLIC_URL)
    expect((yield* management("GET", "/openapi.json")).json.servers).toEqual([{ url: "/" }])

    // Over plain HTTP a browser would not keep a cookie for TLS only.
    const page = fromPage(`127.0.0.1:${ports[1]}`)
    const signedIn = yield* management("POST", "/api/session", { headers: page, body: { key: ADMIN_API_KEY } })
    const [cookie = "", ...attributes] = signedIn.headers.get("set-cookie")!.split("; ")
    expect(attributes).not.toContain("Secure")
    const create = (more: Record<string, string>) =>
      management("POST", "/api/teams", { headers: { cookie, ...more }, body: { team: "ops" } })
    for (const foreign of [{}, { origin: "https://hooks.example.com" }]) {
      expect(refusal(yield* create(foreign))).toStrictEqual([401, "unauthorized"])
    }
    expect((yield* create({ origin: page.origin })).status).toBe(201)

    const secured = ({ headers }: Answer) => headers.has("strict-transport-security")
    expect(secured(yield* callers("GET", "/health/live"))).toBe(true)
    expect(secured(yield* management("GET", "/health/live"))).toBe(false)
  })

  it.live("is not linked from messages: PUBLIC_URL does not lead to its pages", function* () {
    const settings = { PUBLIC_URL: "https://hooks.example.com/in", CALLBACK_ALLOW: "127.0.0.1" }
    const { management } = yield* serve(settings)
    const { addresses } = yield* InProcess.serve({ ADMIN_API_KEY, ...settings })
    const messageFrom = (http: ReturnType<typeof call>) =>
      Effect.gen(function* () {
        const { received, url } = yield* receiver(204)
        const { token, webhook } = yield* newWebhook(http, "demo")
        // A long message says where the rest is.
        const template = "{% for i in (1..500) %}{{ run.response }}\n\n{% endfor %}"
        const body = { kind: "discord", url, body: "template", template }
        expect((yield* http("POST", `/api/webhooks/${webhook.id}/destinations`, { headers, body })).status).toBe(201)
        yield* http("POST", `/webhook/trigger/${token}`, sample)
        return (yield* Effect.promise(() => until("the message arrives", () => received[0]))).body
      })
    const link = /https:\/\/hooks\.example\.com\/in\/runs\/[\da-f-]{36}/
    expect(yield* messageFrom(call(`http://${addresses[0]}`))).toMatch(link)
    const message = yield* messageFrom(management)
    expect(message).toContain("hello")
    expect(message).not.toContain("hooks.example.com")
  })

  it.live("can be closed to addresses at the same time", function* () {
    const variables = { ADMIN_ALLOW_FROM: "127.0.0.1, 192.0.2.0/24", TRUSTED_PROXIES: "127.0.0.1" }
    const { callers, management } = yield* serve(variables)
    const status = (http: ReturnType<typeof call>, address: string) =>
      Effect.map(
        http("GET", "/api/teams", { headers: { ...headers, "x-forwarded-for": address } }),
        ({ status }) => status
      )
    expect(yield* status(management, "192.0.2.7")).toBe(200)
    expect(yield* status(management, "203.0.113.9")).toBe(404)
    expect(yield* status(callers, "192.0.2.7")).toBe(404)
  })

  it.live("does not end the wait of callers at the other listener when it stops", function* () {
    const AMQP_URL = yield* freshVhost
    const { callers, management, server } = yield* start({ AMQP_URL })
    yield* management("POST", "/api/teams", { headers, body: { team: "ops" } })
    const gate = new Gate()
    yield* leadOn(AMQP_URL, "ops", () =>
      Effect.as(
        Effect.promise(() => gate.opened),
        "done"
      )
    )
    const running = management("GET", "/api/teams/ops", { headers })
    yield* untilEffect(
      "the leader is connected",
      Effect.map(running, ({ json }) => json.running as boolean)
    )
    const { token, webhook } = yield* newWebhook(management, "ops")
    const caller = yield* Effect.forkChild(callers("POST", `/webhook/trigger/${token}?wait=true`, sample))
    const runs = management("GET", `/api/webhooks/${webhook.id}/runs`, { headers })
    yield* untilEffect(
      "the run has started",
      Effect.map(runs, ({ json }) => json.data[0]?.started_at !== undefined)
    )
    const ended = yield* Effect.forkChild(server.end("SIGTERM"))
    for (const http of [callers, management]) {
      yield* untilEffect(
        "the listener drains",
        Effect.map(http("GET", "/health/ready"), ({ status }) => status === 503)
      )
    }
    gate.open()
    expect((yield* Fiber.join(caller)).json).toMatchObject({ status: "success", response: "done" })
    expect((yield* Fiber.join(ended)).code).toBe(0)
  })
})

describe("a management whose address cannot be used", () => {
  const refused = (variables: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* refusedServer({
        ...{ HOST: "127.0.0.1", PORT: "0", DATABASE_URL: yield* freshDatabase, ADMIN_API_KEY },
        ...variables
      })
      expect(stdout).toBe("")
      return [
        code,
        stderr
          .split("\n")
          .filter((line) => !line.startsWith("timestamp="))
          .join("\n")
          .trim()
      ] as const
    })

  it.live("keeps the server from starting, with its setting's name", function* () {
    const other = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer().listen(0, "127.0.0.1")
        await once(server, "listening")
        return server
      }),
      (server) => Effect.sync(() => server.close())
    )
    const { port } = other.address() as AddressInfo
    expect(yield* refused({ ADMIN_LISTEN: `127.0.0.1:${port}` })).toEqual([
      1,
      expect.stringMatching(
        `^The server did not start: port ${port} is in use; stop what uses it, or use a free one with ADMIN_LISTEN=127\\.0\\.0\\.1:[1-9]\\d*$`
      )
    ])
    expect(yield* refused({ ADMIN_LISTEN: "192.0.2.1:9090" })).toEqual([
      1,
      "The server did not start: it cannot listen on 192.0.2.1:9090 (EADDRNOTAVAIL); see ADMIN_LISTEN in docs/reference/settings.md"
    ])
    expect(yield* refused({ PORT: String(port), ADMIN_LISTEN: String(port) })).toEqual([
      2,
      expect.stringMatching(/ADMIN_LISTEN +takes an address other than HOST and PORT, not "127\.0\.0\.1:\d+"/)
    ])
  })
})
