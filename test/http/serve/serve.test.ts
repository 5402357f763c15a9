import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import * as NodeServer from "../../../src/http/serve/NodeServer.ts"
import * as Routes from "../../../src/http/serve/Routes.ts"
import { describe, expect, it } from "../../support/It.ts"
import { freePort } from "../../support/Process.ts"
import { untilEffect } from "../../support/Until.ts"
import { call } from "../Client.ts"
import { adminKey, hello, lead, services, silent } from "../Server.ts"

describe("a host's server", () => {
  it.live("listens once all of its routes exist", function* () {
    const port = yield* Effect.promise(freePort)
    const hasListened = Effect.promise(() =>
      fetch(`http://127.0.0.1:${port}/hello`).then(
        (response) => response.text(),
        () => "refused"
      )
    )
    const building = yield* Deferred.make<void>()
    const built = yield* Deferred.make<void>()
    const slow = Layer.unwrap(
      Effect.gen(function* () {
        yield* Deferred.succeed(building, undefined)
        yield* Deferred.await(built)
        return HttpRouter.add("GET", "/hello", HttpServerResponse.text("hello"))
      })
    )
    const server = yield* Effect.forkChild(Layer.build(Layer.provide(NodeServer.serve(slow, { port }), services())))
    yield* Deferred.await(building)
    expect(yield* hasListened).toBe("refused")
    yield* Deferred.succeed(built, undefined)
    yield* Fiber.join(server)
    expect(yield* hasListened).toBe("hello")
  })

  it.live("answers a caller that waits for longer than the grace with 503 and its run, and then closes", function* () {
    const port = yield* Effect.promise(freePort)
    const scope = yield* Scope.make()
    const context = yield* Layer.build(services())
    yield* Effect.provide(lead("ops", silent), context)
    yield* NodeServer.serve(Routes.layer, { port, grace: "100 millis", host: "127.0.0.1" }).pipe(
      Layer.buildWithScope(scope),
      Effect.provide(context)
    )
    const http = call(`http://127.0.0.1:${port}`)
    const headers = { authorization: `Bearer ${adminKey}` }
    yield* http("POST", "/api/teams", { headers, body: { team: "ops" } })
    const body = { name: "a webhook", team: "ops", prompt_template: "{{text}}" }
    const { json } = yield* http("POST", "/api/webhooks", { headers, body })
    const caller = yield* Effect.forkChild(http("POST", `/webhook/trigger/${json.token}?wait=true`, { body: hello }))
    const runs = http("GET", `/api/webhooks/${json.webhook.id}/runs`, { headers })
    const run = yield* untilEffect(
      "the run is accepted",
      Effect.map(runs, ({ json }) => json.data[0])
    )
    yield* Scope.close(scope, Exit.void)
    const refused = yield* Fiber.join(caller)
    expect(refused).toMatchObject({ status: 503, json: { code: "unavailable", run_id: run.run_id } })
    expect(refused.headers.get("retry-after")).not.toBeNull()
    const closed = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/health/live`).catch(() => "closed"))
    expect(closed).toBe("closed")
  })
})
