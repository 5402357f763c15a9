/** A path is a route's only as it is spelled there. */

import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import * as Routes from "../../../src/http/serve/Routes.ts"
import { describe, expect, it } from "../../support/It.ts"
import { call, refusal, wire } from "../Client.ts"
import { adminKey, echo, hello, lead, listening, listeningPort, services, start, startWithWebhook } from "../Server.ts"

const authorization = `Bearer ${adminKey}`

/** Other spellings that Effect's router takes for the same path. */
const spellings = (path: string): ReadonlyArray<string> => {
  const [, first = "", rest = ""] = /^\/(\w)(.*)$/.exec(path) ?? []
  return [
    `/${first.toUpperCase()}${rest}`,
    `${path}/`,
    `/${path}`,
    `${path};x=1`,
    `/%${first.charCodeAt(0).toString(16)}${rest}`
  ]
}

it.live("a trigger under another spelling of its path is not found, and starts nothing", function* () {
  const { http, hook, post, runs } = yield* startWithWebhook
  const { run_id } = (yield* post(hello)).json
  for (const path of [...spellings(hook.path), hook.path.replace("/trigger/", "//trigger/")]) {
    expect(refusal(yield* http("POST", path, { body: hello })), path).toStrictEqual([404, "not_found"])
  }
  for (const path of spellings(`${hook.path}/runs/${run_id}`)) {
    expect(refusal(yield* http("GET", path)), path).toStrictEqual([404, "not_found"])
  }
  expect(yield* runs).toHaveLength(1)
})

describe("other paths", () => {
  it.live("are not found under another spelling, whatever the method", function* () {
    const { http } = yield* start()
    for (const path of ["/api/webhooks", "/api/teams", "/api/session", "/metrics", "/health/live", "/docs"]) {
      expect((yield* http("GET", path, { headers: { authorization } })).status, path).toBe(200)
      for (const other of spellings(path)) {
        for (const method of ["GET", "PUT"]) {
          const answer = yield* http(method, other, { headers: { authorization } })
          expect(refusal(answer), `${method} ${other}`).toStrictEqual([404, "not_found"])
        }
      }
    }
  })

  it.live("may be given with the server's address, as proxies do", function* () {
    const { port } = yield* start()
    const { text } = yield* wire(port, "GET http://x/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
  })

  it.live("answer every method that they do not have with 405 and Allow", function* () {
    const { http, port } = yield* start()
    for (const [path, allow] of [
      ["/api/webhooks", "GET, HEAD, POST"],
      ["/api/runs/x", "GET, HEAD"],
      ["/metrics", "GET, HEAD"]
    ] as const) {
      const put = yield* http("PUT", path)
      expect([...refusal(put), put.headers.get("allow")]).toStrictEqual([405, "method_not_allowed", allow])
      for (const method of ["QUERY", "PROPFIND", "SEARCH"]) {
        const { text } = yield* wire(port, `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
        expect(text, `${method} ${path}`).toMatch(/^HTTP\/1\.1 405 /)
        expect(text.toLowerCase()).toContain(`\r\nallow: ${allow.toLowerCase()}\r\n`)
      }
    }
  })
})

it.live("a host that mounts the routes under a prefix has the same paths below it", function* () {
  const prefixed = Layer.effect(
    HttpRouter.HttpRouter,
    Effect.map(HttpRouter.HttpRouter, (router) => router.prefixed("/hooks"))
  )
  const host = HttpRouter.serve(Layer.provide(Routes.layer, prefixed), { disableListenLog: true })
  const context = yield* Layer.build(host.pipe(Layer.provideMerge(listening), Layer.provideMerge(services())))
  const port = yield* Effect.provide(listeningPort, context)
  const http = call(`http://127.0.0.1:${port}`)
  for (const path of ["/hooks/api/webhooks", "/hooks/metrics"]) {
    expect((yield* http("GET", path, { headers: { authorization } })).status, path).toBe(200)
  }
  for (const path of ["/hooks/API/webhooks", "/hooks/Metrics", "/hooks/metrics;x"]) {
    expect((yield* http("GET", path, { headers: { authorization } })).status, path).toBe(404)
  }
  yield* http("POST", "/hooks/api/teams", { body: { team: "api" }, headers: { authorization } })
  yield* Effect.provide(lead("api", echo), context)
  const messages = "/hooks/api/teams/api/messages"
  const sent = yield* http("POST", messages, { body: { message: "hi" }, headers: { authorization } })
  expect(sent.headers.get("location")).toBe(`/hooks/api/runs/${sent.json.message_id}`)
  expect((yield* http("POST", "/hooks/webhook/trigger/x", { body: hello })).status).toBe(404)
  expect((yield* http("PUT", "/hooks/webhook/trigger/x", { body: hello })).status).toBe(405)
  for (const path of ["/hooks/api/webhooks", "/hooks/metrics"]) {
    const { text } = yield* wire(port, `PROPFIND ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(text, path).toMatch(/^HTTP\/1\.1 405 /)
  }
})

describe("a request with two Host headers", () => {
  it.live("is refused, whatever it asks for", function* () {
    const { hook, port, runs } = yield* startWithWebhook
    const body = JSON.stringify(hello)
    const rest = `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    for (const target of [`POST ${hook.path}`, "GET /health/live", "GET /api/teams", "GET /nothing"]) {
      const { text } = yield* wire(port, `${target} HTTP/1.1\r\nHost: x\r\nhOST: x\r\n${rest}`)
      expect(text, target).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"invalid_host"/)
    }
    expect(yield* runs).toEqual([])
  })
})
