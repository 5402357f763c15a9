/** The metrics of the pool of database connections. */
import { Effect, Metric, type Scope } from "effect"
import type pg from "pg"
import { record } from "../../../telemetry/Metrics.ts"

const connections = Metric.gauge("webhook_database_connections", {
  description: "Open connections of the pool, by state: used or idle."
})
const limit = Metric.gauge("webhook_database_connections_max", {
  description: "How many connections the pool may open."
})
const waiting = Metric.gauge("webhook_database_waiting", {
  description: "Statements and transactions that wait for a connection of the pool."
})

/** Reading at each use of a connection would be work for every run. */
const interval = "1 second"

const sum = (pools: ReadonlyArray<pg.Pool>, count: (pool: pg.Pool) => number): number =>
  pools.reduce((total, pool) => total + count(pool), 0)

/** Reads every second how the pools, which may open so many connections together, are used. */
export const observe = (pools: ReadonlyArray<pg.Pool>, max: number): Effect.Effect<void, never, Scope.Scope> => {
  const read = Effect.sync(() => {
    record(limit, max)
    const idle = sum(pools, ({ idleCount }) => idleCount)
    record(connections, sum(pools, ({ totalCount }) => totalCount) - idle, { state: "used" })
    record(connections, idle, { state: "idle" })
    record(
      waiting,
      sum(pools, ({ waitingCount }) => waitingCount)
    )
  })
  return Effect.asVoid(Effect.forkScoped(Effect.forever(Effect.andThen(read, Effect.sleep(interval)))))
}
