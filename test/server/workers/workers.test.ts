import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Program from "../../cli/Program.ts"
import { freshDatabase, freshVhost } from "../../support/fresh.ts"
import { serve } from "../../support/InProcess.ts"
import { until } from "../../support/Until.ts"
import { isAlive, workersOf } from "../../support/Workers.ts"

const ADMIN_API_KEY = "a-key-for-these-tests"

const production = Effect.gen(function* () {
  return { DATABASE_URL: yield* freshDatabase, AMQP_URL: yield* freshVhost, ADMIN_API_KEY, WORKERS: "2" }
})

const lines = (log: string) => log.trim().split("\n")

describe("a server with several workers", () => {
  it.scopedLive("has the workers that --workers says, says once that it is running, and leaves none when killed", () =>
    Effect.gen(function* () {
      const server = yield* Program.serve({ ...(yield* production), WORKERS: "3" }, ["--workers", "2"])
      expect([...workersOf(server.pid).keys()].sort()).toEqual([1, 2])
      expect(server.welcome().match(/is running/g)).toHaveLength(1)
      yield* Effect.promise(() => fetch(`${server.url}/health/ready`))
      const found = (text: string) => lines(server.log()).filter((line) => line.includes(text))
      yield* Effect.promise(() => until("the request has its line", () => found("/health/ready").length > 0))
      expect(found("/health/ready")).toEqual([expect.stringMatching(/ worker=[12]\b/)])
      expect(found("Listening on")).toEqual([expect.stringMatching(/ on 127\.0\.0\.1:\d+ with 2 workers"/)])

      const workers = [...workersOf(server.pid).values()]
      yield* server.end("SIGKILL")
      yield* Effect.promise(() => until("the killed server's workers have ended", () => !workers.some(isAlive)))
      // Its port is free.
      const { port } = new URL(server.url)
      expect((yield* serve({ ADMIN_API_KEY, PORT: port })).addresses).toEqual([`127.0.0.1:${port}`])
    })
  )

  it.scopedLive("stops with exit code 0 when every process gets the signal, even twice", () =>
    Effect.gen(function* () {
      const server = yield* Program.serve(yield* production)
      const workers = [...workersOf(server.pid).values()]
      // As a terminal does, and as the primary does once more.
      for (const pid of [...workers, ...workers]) process.kill(pid, "SIGINT")
      expect((yield* server.end("SIGINT")).code).toBe(0)
      expect(workers.filter(isAlive)).toEqual([])
    })
  )
})

describe("a server whose workers cannot start", () => {
  /** Ends by itself; gives the lines of standard error, of which each process could have written its own. */
  const refused = (variables: Readonly<Record<string, string>>) =>
    Effect.map(Program.run(["serve"], { PORT: "0", WORKERS: "2", ...variables }), ({ code, stderr, stdout }) => {
      expect(stdout).toBe("")
      return { code, lines: lines(stderr) }
    })

  it.scopedLive("says what to set when database and bus live in one process", () =>
    Effect.gen(function* () {
      const DATA_DIR = yield* Program.newFolder
      expect(yield* refused({ DATA_DIR })).toEqual({
        code: 2,
        lines: [expect.stringMatching(/did not start: 2 workers .*set DATABASE_URL and AMQP_URL /)]
      })
      expect(yield* refused({ DATA_DIR, DATABASE_URL: "postgres://u:p@127.0.0.1:1/x" })).toEqual({
        code: 2,
        lines: [expect.stringMatching(/did not start: 2 workers .*set AMQP_URL /)]
      })
    })
  )

  it.scopedLive("reports all faults of the settings once", () =>
    Effect.gen(function* () {
      expect(yield* refused({ SHUTDOWN_GRACE: "soon", AMQP_QUEUE_TYPE: "fast" })).toEqual({
        code: 2,
        lines: [
          expect.stringContaining("The server did not start"),
          expect.stringContaining("SHUTDOWN_GRACE"),
          expect.stringContaining("AMQP_QUEUE_TYPE")
        ]
      })
      expect(yield* refused({ WORKERS: "many" })).toEqual({
        code: 2,
        lines: [
          expect.stringContaining("The server did not start"),
          expect.stringMatching(/WORKERS .*from 1 to 128, or `auto`.*, not "many"/)
        ]
      })
    })
  )

  it.scopedLive("ends with all of them when one is killed before it is ready", () =>
    Effect.gen(function* () {
      const variables = yield* production
      const starting = yield* Program.start(["serve"], { HOST: "127.0.0.1", PORT: "0", ...variables })
      const second = () => workersOf(starting.pid).get(2)
      process.kill(yield* Effect.promise(() => until("the second worker starts", second)), "SIGKILL")
      const { code, stderr, stdout } = yield* starting.ended
      expect([code, stdout]).toEqual([1, ""])
      expect(lines(stderr).filter((line) => line.includes("did not start"))).toEqual([
        "The server did not start: worker 2 ended before it was ready (SIGKILL)"
      ])
    })
  )

  it.scopedLive("reports once that the port is in use", () =>
    Effect.gen(function* () {
      const other = yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<ReturnType<typeof createServer>>((resolve) => {
              const server = createServer().listen(0, "127.0.0.1", () => resolve(server))
            })
        ),
        (server) => Effect.sync(() => server.close())
      )
      const { port } = other.address() as AddressInfo
      const { code, lines } = yield* refused({ ...(yield* production), HOST: "127.0.0.1", PORT: String(port) })
      expect(code).toBe(1)
      expect(lines.filter((line) => line.includes("did not start"))).toEqual([
        expect.stringContaining(`port ${port} is in use`)
      ])
    })
  )
})
