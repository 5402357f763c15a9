import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Program from "../cli/Program.ts"
import { wire } from "../http/Client.ts"
import { freshDatabase } from "../support/fresh.ts"
import { freePort } from "../support/Process.ts"
import { until } from "../support/Until.ts"

it.scopedLive("an idle connection is kept for longer than the usual proxies keep theirs", () =>
  Effect.gen(function* () {
    const server = yield* Program.serve({ DATABASE_URL: yield* freshDatabase, ADMIN_API_KEY: "a-key-for-these-tests" })
    const { headers } = yield* Effect.promise(() => fetch(`${server.url}/health/live`))
    expect(headers.get("keep-alive")).toBe("timeout=65")
  })
)

it.scopedLive(
  "a caller that does not finish its headers in 10 s, or its request in 30 s, is disconnected",
  () =>
    Effect.gen(function* () {
      const server = yield* Program.serve({
        DATABASE_URL: yield* freshDatabase,
        ADMIN_API_KEY: "a-key-for-these-tests"
      })
      const port = Number(new URL(server.url).port)
      const begun = performance.now()
      const secondsUntilClosed = (bytes: string) =>
        Effect.map(wire(port, bytes), ({ text }) => ({ text, seconds: (performance.now() - begun) / 1000 }))
      const head = "POST /api/session HTTP/1.1\r\nHost: x\r\n"
      const { body, headers } = yield* Effect.all(
        { headers: secondsUntilClosed(head), body: secondsUntilClosed(`${head}Content-Length: 99\r\n\r\n{`) },
        { concurrency: "unbounded" }
      )
      expect(headers.seconds).toBeGreaterThan(9)
      expect(headers.seconds).toBeLessThan(20)
      expect(headers.text).toMatch(/^HTTP\/1\.1 408 /)
      expect(body.seconds).toBeGreaterThan(29)
      expect(body.seconds).toBeLessThan(45)
    }),
  90_000
)

it.scopedLive("the first request that is let in is answered, because the server listens once its routes exist", () =>
  Effect.gen(function* () {
    const port = yield* Effect.promise(freePort)
    const variables = { DATABASE_URL: yield* freshDatabase, ADMIN_API_KEY: "a-key-for-these-tests", PORT: String(port) }
    const starting = yield* Effect.fork(Program.serve(variables))
    // One at a time: a connection is refused until the server listens, and then kept.
    const first = yield* Effect.promise(() =>
      until("the server lets a request in", () =>
        fetch(`http://127.0.0.1:${port}/health/live`, { signal: AbortSignal.timeout(10_000) }).catch((error) =>
          error.name === "TimeoutError" ? error : undefined
        )
      )
    )
    expect(first).toMatchObject({ status: 200 })
    yield* Fiber.join(starting)
  })
)
