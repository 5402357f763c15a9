import { HttpLayerRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted, TestClock } from "effect"
import { AdminKey, Limiter, Renderer, Settings } from "../../src/index.ts"
import { adminKey, RepoMemory } from "../../src/testing.ts"
import { untilEffect } from "../support/Until.ts"
import { host } from "./Host.ts"

/** What the host's author provides in a test; in production only `RepoMemory.layer` differs. */
const testing = host.pipe(
  Layer.provide([Limiter.layer, Renderer.layer, AdminKey.layerGiven(adminKey), RepoMemory.layer]),
  Layer.provide(Settings.layer()),
  Layer.provide(NodeHttpServer.layerContext)
)

/** Sends requests into the host without a socket. */
const client = Effect.map(HttpLayerRouter.toHttpEffect(testing), (app) =>
  Effect.fn(function* (method: string, path: string, body?: unknown) {
    const request = new Request(`http://host${path}`, {
      method,
      headers: { authorization: `Bearer ${Redacted.value(adminKey)}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const response = yield* app.pipe(
      Effect.provideService(HttpServerRequest.HttpServerRequest, HttpServerRequest.fromWeb(request)),
      Effect.scoped
    )
    const web = HttpServerResponse.toWeb(response, { runtime: yield* Effect.runtime<never>() })
    const text = yield* Effect.promise(() => web.text())
    return { status: web.status, headers: web.headers, body: text === "" ? undefined : JSON.parse(text) }
  })
)

const makeWebhook = Effect.fn(function* (send: Effect.Effect.Success<typeof client>) {
  yield* send("POST", "/api/teams", { team: "agents" })
  const { body } = yield* send("POST", "/api/webhooks", {
    name: "shout",
    team: "agents",
    prompt_template: "{{text}}",
    timeout_seconds: 30
  })
  return `/webhook/trigger/${body.token}`
})

it.scoped("serves the host's own route beside the webhooks", () =>
  Effect.gen(function* () {
    const send = yield* client
    expect(yield* send("GET", "/hello")).toMatchObject({ status: 200, body: "hello from the host" })
  })
)

it.scoped("triggers the host's agents over the host's own bus, at once and waiting for the answer", () =>
  Effect.gen(function* () {
    const send = yield* client
    const address = yield* makeWebhook(send)
    const accepted = yield* send("POST", address, { variables: { text: "hi" } })
    expect(accepted).toMatchObject({ status: 202, body: { status: "accepted" } })
    expect(accepted.headers.get("location")).toBe(`${address}/runs/${accepted.body.run_id}`)
    const answered = yield* send("POST", `${address}?wait=true`, { variables: { text: "hi" } })
    expect(answered).toMatchObject({ status: 200, body: { status: "success", response: "HI" } })
  })
)

it.scoped("answers 408 when the test's clock passes the webhook's timeout", () =>
  Effect.gen(function* () {
    const send = yield* client
    const address = yield* makeWebhook(send)
    const asking = yield* Effect.fork(send("POST", `${address}?wait=true`, { variables: { text: "sleep" } }))
    const newest = Effect.flatMap(send("GET", "/api/webhooks"), ({ body }) =>
      Effect.map(send("GET", `/api/webhooks/${body[0].id}/runs`), ({ body }) => body.data[0])
    )
    yield* untilEffect(
      "the run is running",
      Effect.map(newest, (run) => run?.status === "running")
    )
    const { run_id } = yield* newest
    yield* TestClock.adjust("30 seconds")
    expect(yield* Fiber.join(asking)).toMatchObject({ status: 408, body: { status: "timeout", run_id } })
    expect((yield* send("GET", `/api/runs/${run_id}`)).body.status).toBe("timeout")
  })
)
