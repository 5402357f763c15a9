import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Context, Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as LeaderHttp from "../../../src/bus/http/LeaderHttp.ts"
import { expect, it } from "../../support/It.ts"
import { untilEffect } from "../../support/Until.ts"

/** A server that leaves every request unanswered until the test answers it. */
const silentServer = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly unanswered: Array<ServerResponse>; readonly close: () => void }>(
    (resume) => {
      const unanswered: Array<ServerResponse> = []
      const server = createServer((_, response) => void unanswered.push(response))
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => server.close().closeAllConnections()
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, unanswered, close }))
      })
    }
  ),
  ({ close }) => Effect.sync(close)
)

it.effect("a leader over HTTP repeats a request that its server leaves unanswered", function* () {
  const { unanswered, url } = yield* silentServer
  const requests = (count: number) =>
    untilEffect(
      `${count} requests`,
      Effect.sync(() => unanswered.length === count)
    )
  const leader = LeaderHttp.layer({ url, key: Redacted.make("lk_1") })
  const connecting = yield* Effect.forkScoped(Layer.build(leader))
  yield* requests(1)
  yield* TestClock.adjust("12 seconds")
  yield* requests(2)
  unanswered[1]!.setHeader("content-type", "application/json").end(JSON.stringify({ team: "review" }))
  expect(Context.get(yield* Fiber.join(connecting), LeaderHttp.Access).team).toBe("review")
})
