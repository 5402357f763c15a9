import { Context, Effect, Layer, type Redacted, Schedule } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { Unavailable } from "../../domain/Errors.ts"
import { causeOf, unavailable } from "./Database.ts"
import { isReadOnly, makeClient, openSession, planSettings, type SessionOptions } from "./Driver.ts"
import { migrate } from "./Migrations.ts"
import { Notifications } from "./Notifications.ts"
import * as PoolMetrics from "./PoolMetrics.ts"
import { addressFault, advice, isPermanent, sessionOf } from "./PostgresAddress.ts"
import { listen } from "./PostgresListener.ts"
import * as Refusals from "./Refusals.ts"
import { StepClient } from "./StepClient.ts"

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with PostgreSQL's URL parameters. */
  readonly url: Redacted.Redacted
  /**
   * Maximum number of this process's connections. Up to three of them are for steps. One more listens for changes, and one more
   * migrates at the start.
   */
  readonly maxConnections?: number
}

/** Steps run one at a time, beside those with files and those apart (`Steps`). */
const mostForSteps = 3

/** How long the start waits for an unreachable database. */
const startTimeout = "30 seconds"

/** Milliseconds, the most that a timer takes: a migration may take any time. */
const anyTime = 2 ** 31 - 1

const describe = (error: unknown): string => {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  const said = [code, message].filter((part) => typeof part === "string" && part !== "").join(": ") || "no answer"
  return [said, advice(error)].filter((part) => part !== undefined).join(". ")
}

/** Waits until the database can be used: after a failover, for the new primary. */
const start = (options: SessionOptions): Effect.Effect<void, Unavailable> =>
  Effect.suspend(() => {
    let reason = "no answer"
    const failed = (error: SqlError.SqlError) => {
      reason = describe(causeOf(error))
      return Effect.logWarning(`The database cannot be used yet: ${reason}`)
    }
    const fail = () => unavailable(`The database cannot be used: ${reason}`)
    return Effect.scoped(Effect.flatMap(openSession(options), isReadOnly)).pipe(
      Effect.filterOrFail(
        (readOnly) => !readOnly,
        () => refused(new Error("it is read-only"))
      ),
      Effect.tapError(failed),
      Effect.retry({ while: (error) => !isPermanent(causeOf(error)), schedule: Schedule.spaced("1 second") }),
      Effect.timeoutOrElse({ duration: startTimeout, orElse: fail }),
      Effect.mapError(fail)
    )
  })

const refused = (cause: Error) => new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause }) })

/** Its session has no time limits. */
const migrateOnce = (options: SessionOptions): Effect.Effect<void, Unavailable> =>
  Effect.gen(function* () {
    const { sql } = yield* makeClient({ ...options, settings: planSettings, silence: anyTime, max: 1 }, system)
    yield* Effect.provideService(migrate, SqlClient.SqlClient, sql)
  }).pipe(
    Effect.scoped,
    Effect.catchTag("SqlError", (error) =>
      Effect.fail(unavailable(`The database's tables cannot be created: ${describe(causeOf(error))}`))
    ),
    Effect.catchTag("MigrationError", Effect.die)
  )

const system = "postgresql"

/**
 * PostgreSQL, migrated. At the start, waits half a minute for an unreachable database. Later, broken connections are
 * replaced, and every statement ends in bounded time.
 */
export const layer = (options: PostgresOptions): Layer.Layer<SqlClient.SqlClient | Notifications, Unavailable> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const fault = addressFault(options.url)
      if (fault !== undefined) return yield* unavailable(`The database's address ${fault}`)
      const session = sessionOf(options.url)
      yield* start(session)
      yield* migrateOnce(session)

      const max = options.maxConnections ?? 10
      const { ended } = yield* Refusals.make
      const forSteps = Math.min(mostForSteps, Math.floor(max / 3))
      const open = (max: number) => makeClient({ ...session, ended, max }, system)
      const client = yield* open(max - forSteps)
      const ofSteps = forSteps === 0 ? client : yield* open(forSteps)
      yield* PoolMetrics.observe([...new Set([client.pool, ofSteps.pool])], max)
      return Context.make(SqlClient.SqlClient, client.sql).pipe(
        Context.add(StepClient, ofSteps.sql),
        Context.add(Notifications, yield* listen(session))
      )
    })
  )
