/** What `/metrics` says of the pool of connections to PostgreSQL. */

import { Effect, Fiber, Latch, Layer, Metric, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as PostgresClient from "../../src/repo/database/PostgresClient.ts"
import { freshDatabase } from "../support/fresh.ts"
import { expect, it } from "../support/It.ts"
import { repeatUntil } from "../support/Until.ts"

const gauges = Effect.map(Metric.snapshot, (pairs) =>
  Object.fromEntries(
    pairs.flatMap(({ attributes, id, state }) =>
      id.startsWith("webhook_database_")
        ? [[[id, ...Object.values(attributes ?? {})].join(" "), (state as Metric.GaugeState<number>).value]]
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

it.live("the pool's size, its connections in use, and those who wait for one", function* () {
  const url = yield* freshDatabase
  const context = yield* Layer.build(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
  yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const isOver = yield* Latch.make()
    // A statement that waits for a lock would end after three seconds.
    const transaction = sql`set local idle_in_transaction_session_timeout = 0`.pipe(
      Effect.andThen(isOver.await),
      sql.withTransaction
    )
    const transactions = yield* Effect.forEach([1, 2, 3, 4], () => Effect.forkChild(transaction))
    const read = (expected: object) =>
      repeatUntil(
        Effect.delay(gauges, "20 millis"),
        (found) => JSON.stringify(found) === JSON.stringify({ ...found, ...expected })
      )
    expect(yield* read(pool(2, 0, 2))).toMatchObject(pool(2, 0, 2))
    yield* isOver.open
    yield* Fiber.joinAll(transactions)
    expect(yield* read(pool(0, 2, 0))).toMatchObject(pool(0, 2, 0))
  }).pipe(Effect.provide(context))
})
