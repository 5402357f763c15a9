import { createServer } from "node:http"
import { Effect, Fiber } from "effect"
import * as Program from "../cli/Program.ts"
import { freshDatabase } from "../support/fresh.ts"
import * as InProcess from "../support/InProcess.ts"
import { describe, expect, it } from "../support/It.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { untilEffect } from "../support/Until.ts"

const key = /Admin key +(wha_\w+)/

/** The hashes of admin keys in the database. */
const stored = (url: string) =>
  Effect.promise(() => queryPostgres(url, "select hash from webhook_trigger.secrets where name = 'admin_key'"))

/** A port that something else uses. */
const usedPort = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<ReturnType<typeof createServer>>((resolve) => {
        const server = createServer()
        server.listen(0, "127.0.0.1", () => resolve(server))
      })
  ),
  (server) => Effect.sync(() => server.close())
).pipe(Effect.map((server) => String((server.address() as { port: number }).port)))

const quoted = Program.program.replaceAll("'", "'\\''")

describe("a first start that fails stores no admin key, and the next one shows it", () => {
  it.live("whatever the server cannot listen on, reach or run", function* () {
    const DATABASE_URL = yield* freshDatabase
    const used = yield* usedPort
    const faults: ReadonlyArray<readonly [fault: RegExp, variables: Readonly<Record<string, string>>]> = [
      [/is in use; .* free one with --port [1-9]\d* or PORT=/, { PORT: used }],
      [/cannot listen on 192\.0\.2\.1/, { HOST: "192.0.2.1" }],
      [/is in use; .* free one with ADMIN_LISTEN=127/, { ADMIN_LISTEN: `127.0.0.1:${used}` }],
      [/Cannot run \\?"no-such-agent/, { LEADERS: "review=no-such-agent" }]
    ]
    for (const [fault, more] of faults) {
      const failed = yield* Effect.exit(Effect.scoped(InProcess.serve({ DATABASE_URL, ...more })))
      expect(JSON.stringify(failed)).toMatch(fault)
      expect(yield* stored(DATABASE_URL)).toEqual([])
    }
    const { url, welcome } = yield* InProcess.serve({ DATABASE_URL })
    const [, ADMIN_API_KEY] = key.exec(welcome)!
    const answer = yield* Effect.promise(() =>
      fetch(`${url}/api/teams`, { headers: { authorization: `Bearer ${ADMIN_API_KEY}` } })
    )
    expect(answer.status).toBe(200)
    const again = yield* InProcess.serve({ DATABASE_URL })
    expect(again.welcome).toMatch(/Admin key +shown at an earlier start; if you lost it, .* ADMIN_API_KEY/)
  })

  it.live("if standard output is closed, discarded or full, or its reader is gone", function* () {
    const DATABASE_URL = yield* freshDatabase
    const start = `DATABASE_URL='${DATABASE_URL}' HOST=127.0.0.1 PORT=0 '${process.execPath}' '${quoted}' serve`
    const ways = [`${start} >&-`, `${start} >/dev/null`, `${start} >/dev/full`, `{ ${start}; echo $? >&2; } | true`]
    for (const line of ways) {
      const { stderr } = yield* Program.shell(line)
      expect(stderr, line).toMatch(/^The server did not start: .* standard output .*ADMIN_API_KEY/m)
      expect(yield* stored(DATABASE_URL), line).toEqual([])
    }
  })

  it.live("if a signal ends it at any moment: a key is stored only once it was shown", function* () {
    const DATABASE_URL = yield* freshDatabase
    const variables = { DATABASE_URL, HOST: "127.0.0.1", PORT: "0" }
    const lock = "begin; lock table webhook_trigger.secrets in share mode; select pg_sleep(600)"
    const blocker = yield* Effect.forkChild(Effect.promise(() => queryPostgres(DATABASE_URL, lock).catch(() => {})))
    const waiting = Effect.promise(() =>
      queryPostgres(
        DATABASE_URL,
        "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
      )
    )
    const server = yield* Program.start(["serve"], variables)
    yield* untilEffect(
      "the start waits to store its key",
      Effect.map(waiting, (rows) => rows.length > 0)
    )
    const { stdout } = yield* server.end("SIGTERM")
    expect(stdout).not.toContain("wha_")
    yield* Effect.promise(() =>
      queryPostgres(
        DATABASE_URL,
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like '%pg_sleep%' and pid <> pg_backend_pid()"
      )
    )
    yield* Fiber.await(blocker)
    expect(yield* stored(DATABASE_URL)).toEqual([])
    const next = yield* Program.serve(variables)
    expect(next.welcome()).toMatch(key)
  })
})
