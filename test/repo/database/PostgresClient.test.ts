import { Cause, Context, Deferred, Effect, Exit, Fiber, Latch, Layer, Logger, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { channel, Notifications } from "../../../src/repo/database/Notifications.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { describe, expect, it } from "../../support/It.ts"
import { pgBouncer } from "../../support/PgBouncer.ts"
import { queryPostgres } from "../../support/Postgres.ts"
import { freePort } from "../../support/Process.ts"
import { repeatUntil } from "../../support/Until.ts"
import { layerOf, replicaOf } from "../Replica.ts"

const password = "s3cr3t-of-the-database"

describe("PostgresClient", () => {
  it.live("compiles no statement of ours, also where it is told to", function* () {
    const url = new URL(yield* freshDatabase)
    url.searchParams.set("options", "-c jit=on -c jit_above_cost=0")
    const context = yield* Layer.build(layerOf(url.href))
    const sql = Context.get(context, SqlClient.SqlClient)
    const settings = yield* Effect.all([sql`show jit`, sql`show jit_above_cost`])
    expect(settings).toEqual([[{ jit: "off" }], [{ jit_above_cost: "0" }]])
  })

  it.live("ends at once the statements that wait for a connection when it ends", function* () {
    const scope = yield* Scope.make()
    const url = yield* freshDatabase
    const context = yield* Layer.buildWithScope(layerOf(url), scope)
    const sql = Context.get(context, SqlClient.SqlClient)
    const ends: Array<string> = []
    const start = (name: string, statement: Effect.Effect<unknown, unknown>) =>
      Effect.forkChild(
        Effect.ensuring(
          Effect.exit(statement),
          Effect.sync(() => ends.push(name))
        )
      )
    // All connections but the one for steps, until they are cut. They begin to sleep only then: a statement has five seconds.
    const isEnding = yield* Latch.make()
    const sleep = sql`set local idle_in_transaction_session_timeout = 0`.pipe(
      Effect.andThen(isEnding.await),
      Effect.andThen(sql`select pg_sleep(60)`),
      sql.withTransaction
    )
    const busy = yield* Effect.replicateEffect(start("busy", sleep), 4)
    const taken = "select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'"
    yield* repeatUntil(
      Effect.promise(() => queryPostgres(url, taken)),
      ({ length }) => length === busy.length
    )
    const waiting = yield* start("waiting", sql`select 1`)
    yield* isEnding.open
    yield* Effect.yieldNow
    yield* Scope.close(scope, Exit.void)
    yield* Fiber.joinAll([...busy, waiting])
    expect(ends[0]).toBe("waiting")
  })

  it.live(
    "fails a transaction that PostgreSQL rolls back, although the failure of its statement was handled",
    function* () {
      const context = yield* Layer.build(layerOf(yield* freshDatabase))
      const sql = Context.get(context, SqlClient.SqlClient)
      const exit = yield* Effect.exit(sql.withTransaction(Effect.ignore(sql`select 1 / 0`)))
      expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain("a failed transaction was rolled back")
      expect(yield* sql`select 1 as one`).toEqual([{ one: 1 }])
    }
  )

  it.live("works through PgBouncer in session mode, with its time limits", function* () {
    const context = yield* Layer.build(layerOf(yield* pgBouncer(yield* freshDatabase)))
    const sql = Context.get(context, SqlClient.SqlClient)
    const limits = yield* Effect.all([
      sql`show statement_timeout`,
      sql`show lock_timeout`,
      sql`show idle_in_transaction_session_timeout`
    ])
    expect(limits.flat()).toEqual([
      { statement_timeout: "5s" },
      { lock_timeout: "3s" },
      { idle_in_transaction_session_timeout: "5s" }
    ])
    const heard = yield* Deferred.make<string>()
    yield* Context.get(context, Notifications).listen((payload) => Deferred.doneUnsafe(heard, Exit.succeed(payload)))
    const notify = sql`select pg_notify(${channel}, 'hello')`
    yield* Effect.raceFirst(Deferred.await(heard), Effect.forever(Effect.delay(notify, "100 millis")))
  })

  it.live("names the parameter of the URL that PgBouncer refuses", function* () {
    const url = new URL(yield* pgBouncer(yield* freshDatabase))
    url.searchParams.set("options", "-c jit=on")
    const error = yield* Effect.flip(replicaOf(url.href))
    // Since PgBouncer 1.20, it looks into the options.
    expect(error.detail).toMatch(/unsupported startup parameter(: options| in options: jit)/)
    expect(error.detail).toContain("Remove that parameter from DATABASE_URL")
  })

  it.effect("says after half a minute why it cannot start", function* () {
    const port = yield* Effect.promise(() => freePort())
    const warned = yield* Deferred.make<void>()
    const started = yield* Effect.flip(replicaOf(`postgres://postgres@127.0.0.1:${port}/postgres`)).pipe(
      Effect.provide(Logger.layer([Logger.make(() => Deferred.doneUnsafe(warned, Exit.void))])),
      Effect.forkChild
    )
    yield* Deferred.await(warned)
    yield* TestClock.adjust("30 seconds")
    const { detail } = yield* Fiber.join(started)
    expect(detail).toContain("ECONNREFUSED")
  })

  it.live("names a database at the start that can never be reached, without its password", function* () {
    const url = new URL(yield* freshDatabase)
    url.password = password
    url.pathname = "/nowhere"
    const lines: Array<string> = []
    const error = yield* Effect.flip(replicaOf(url.href)).pipe(
      Effect.provide(Logger.layer([Logger.make((line) => lines.push(Logger.formatLogFmt.log(line)))]))
    )
    expect(error).toBeInstanceOf(Unavailable)
    expect(error.detail).toContain("nowhere")
    expect(lines.length).toBeGreaterThan(0)
    expect(JSON.stringify([error, ...lines])).not.toContain(password)
  })
})
