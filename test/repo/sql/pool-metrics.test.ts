/** What `/metrics` says of the pool of connections to PostgreSQL. */
import { SqlClient } from "@effect/sql"
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Metric, Redacted } from "effect"
import pg from "pg"
import * as PostgresClient from "../../../src/repo/sql/database/PostgresClient.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { repeatUntil } from "../../support/Until.ts"

const gauges = Effect.map(Metric.snapshot, (pairs) =>
  Object.fromEntries(
    pairs.flatMap(({ metricKey: { name, tags }, metricState }: any) =>
      name.startsWith("webhook_database_")
        ? [[[name, ...tags.map(({ value }: { value: string }) => value)].join(" "), metricState.value]]
        : []
    )
  )
)

const pool = (used: number, idle: number, waiting: number) => ({
  "webhook_database_connections used": used,
  "webhook_database_connections idle": idle,
  webhook_database_connections_max: 2,
  webhook_database_waiting: waiting
})

it.scopedLive("the pool's size, its connections in use, and those who wait for one", () =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const context = yield* Layer.build(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const locker = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const client = new pg.Client(url)
          await client.connect()
          await client.query("select pg_advisory_lock(1)")
          return client
        }),
        (client) => Effect.promise(() => client.end())
      )
      const statement = sql`select pg_advisory_xact_lock(1)`
      const statements = yield* Effect.forEach([1, 2, 3, 4], () => Effect.fork(statement))
      const read = (expected: object) =>
        repeatUntil(
          Effect.delay(gauges, "20 millis"),
          (found) => JSON.stringify(found) === JSON.stringify({ ...found, ...expected })
        )
      expect(yield* read(pool(2, 0, 2))).toMatchObject(pool(2, 0, 2))
      yield* Effect.promise(() => locker.query("select pg_advisory_unlock(1)"))
      yield* Fiber.joinAll(statements)
      expect(yield* read(pool(0, 2, 0))).toMatchObject(pool(0, 2, 0))
    }).pipe(Effect.provide(context))
  })
)
