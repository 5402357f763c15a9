/** The metrics of the pool of database connections. */
import { Effect, Metric, Pool, type Scope } from "effect"
import { record } from "../../telemetry/Metrics.ts"
import type { SessionPool } from "./Driver.ts"

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

/** Reads every second how the pools, which may open so many connections together, are used. */
export const observe = (pools: ReadonlyArray<SessionPool>, max: number): Effect.Effect<void, never, Scope.Scope> => {
  const read = Effect.map(Effect.forEach(pools, Pool.stats), (all) => {
    const sum = (field: "idle" | "used" | "pending") => all.reduce((total, stats) => total + stats[field], 0)
    record(limit, max)
    record(connections, sum("used"), { state: "used" })
    record(connections, sum("idle"), { state: "idle" })
    record(waiting, sum("pending"))
  })
  return Effect.asVoid(Effect.forkScoped(Effect.forever(Effect.andThen(read, Effect.sleep(interval)))))
}
