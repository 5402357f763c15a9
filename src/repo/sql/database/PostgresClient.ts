import { Reactivity } from "@effect/experimental"
import { SqlClient, SqlError } from "@effect/sql"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import pg from "pg"
import type { Unavailable } from "../../../domain/Errors.ts"
import { setNeverSent, unavailable } from "./Database.ts"
import { migrate } from "./Migrations.ts"
import { Notifications } from "./Notifications.ts"
import * as PoolMetrics from "./PoolMetrics.ts"
import { connection, openSession } from "./PostgresSession.ts"
import * as Refusals from "./Refusals.ts"
import { preparedName, sessionSettings } from "./Session.ts"
import { SessionLocks } from "./SessionLocks.ts"

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with PostgreSQL's URL parameters. */
  readonly url: Redacted.Redacted
  /**
   * Maximum number of this process's connections. One more listens for changes and holds a lock, and one more migrates
   * at the start.
   */
  readonly maxConnections?: number
}

/**
 * Milliseconds. A statement that waits for a lock gives up first, then the server ends it, then we close the
 * connection.
 */
const lockTimeout = 3_000
const statementTimeout = 5_000
const silence = 7_000
const closeTimeout = 2_000

/** How long the start waits for an unreachable database. */
const startTimeout = "30 seconds"

/**
 * Cuts a connection with an unanswered statement. `pg` has `query_timeout`, but returns the connection to the pool,
 * where the next statement waits behind the first.
 */
const boundedClient = ({ ended }: Refusals.Refusals) =>
  class extends pg.Client {
    override query(...args: ReadonlyArray<any>): any {
      const last = args.at(-1)
      if (typeof last !== "function") return (super.query as any)(...args)
      const timer = setTimeout(() => {
        ;(this as any).connection.stream.destroy(new Error("the database does not answer"))
      }, silence)
      const [statement, values] = args
      const callback = (error: unknown, ...results: ReadonlyArray<unknown>) => {
        clearTimeout(timer)
        if (typeof statement === "string") ended(statement, error)
        last(error, ...results)
      }
      return typeof statement === "string" && Array.isArray(values) && values.length > 0
        ? (super.query as any)({ name: preparedName(statement), text: statement, values }, callback)
        : (super.query as any)(...args.slice(0, -1), callback)
    }
  }

/** Marks the errors of statements that found no connection. */
class MarkingPool extends pg.Pool {
  override connect(callback?: (...results: ReadonlyArray<any>) => void): any {
    if (callback === undefined) return super.connect()
    super.connect((error, ...connected) => {
      if (error) setNeverSent(error)
      callback(error, ...connected)
    })
  }
}

const makePool = (config: pg.PoolConfig): Effect.Effect<pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      // Not as a connection option: one in the URL would override it.
      const onConnect = (client: pg.ClientBase) =>
        new Promise<void>((resolve, reject) => {
          client.query(sessionSettings, (error) => (error ? reject(error) : resolve()))
        })
      const pool = new MarkingPool({ ...config, onConnect })
      // An idle connection broke. The pool opens another one when needed.
      pool.on("error", () => {})
      return pool
    }),
    (pool) => Effect.promise(() => endPool(pool))
  )

/**
 * Cuts connections on which a silent server delays the end. Statements that wait for a connection fail at once: a pool
 * that ends gives them none, and would let them wait for five seconds.
 */
const endPool = (pool: pg.Pool): Promise<void> => {
  const { _clients, _pendingQueue } = pool as any
  const clients: ReadonlyArray<any> = [..._clients]
  setTimeout(() => {
    for (const { connection } of clients) connection.stream.destroy()
  }, closeTimeout).unref()
  const ended = pool.end()
  for (const { callback } of _pendingQueue.splice(0)) callback(new Error("the pool has ended"))
  return ended
}

/** Waiting does not help: a wrong password or name. */
const isPermanent = (error: SqlError.SqlError): boolean =>
  /^(28|3D)/.test(String((error.cause as { readonly code?: unknown } | undefined)?.code))

const describe = (error: unknown): string => {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return [code, message].filter((part) => typeof part === "string" && part !== "").join(": ") || "no answer"
}

const start = <A>(effect: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, Unavailable> =>
  effect.pipe(
    Effect.tapError((error) => Effect.logWarning(`The database cannot be reached yet: ${describe(error.cause)}`)),
    Effect.retry({ while: (error) => !isPermanent(error), schedule: Schedule.spaced("1 second") }),
    Effect.timeoutFail({
      duration: startTimeout,
      onTimeout: () =>
        new SqlError.SqlError({ message: "timeout", cause: { message: `no answer within ${startTimeout}` } })
    }),
    Effect.mapError((error) => unavailable(`The database cannot be reached: ${describe(error.cause)}`))
  )

const clientOf = (pool: pg.Pool) => Effect.orDie(PgClient.fromPool({ acquire: Effect.succeed(pool) }))

const makeClient = (config: pg.PoolConfig) => Effect.flatMap(makePool(config), clientOf)

/**
 * PostgreSQL, migrated. At the start, waits half a minute for an unreachable database. Later, broken connections are
 * replaced, and every statement ends in bounded time.
 */
export const layer = (
  options: PostgresOptions
): Layer.Layer<SqlClient.SqlClient | Notifications | SessionLocks, Unavailable> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      // A migration may take any time.
      yield* Effect.gen(function* () {
        const client = yield* makeClient({ ...connection(options.url), max: 1 })
        yield* start(client`select 1`)
        yield* Effect.provideService(migrate, SqlClient.SqlClient, client).pipe(
          Effect.catchTag("SqlError", (error) =>
            Effect.fail(unavailable(`The database's tables cannot be created: ${describe(error.cause)}`))
          ),
          Effect.catchTag("MigrationError", Effect.die)
        )
      }).pipe(Effect.scoped)

      const max = options.maxConnections ?? 10
      const pool = yield* makePool({
        ...connection(options.url),
        max,
        idleTimeoutMillis: 30_000,
        statement_timeout: statementTimeout,
        lock_timeout: lockTimeout,
        idle_in_transaction_session_timeout: statementTimeout,
        Client: boundedClient(yield* Refusals.make)
      } as pg.PoolConfig)
      yield* PoolMetrics.observe(pool, max)
      const client = yield* clientOf(pool)
      const session = yield* openSession(() => new pg.Client(connection(options.url)))
      return Context.make(SqlClient.SqlClient, client).pipe(
        Context.add(Notifications, session),
        Context.add(SessionLocks, session)
      )
    })
  ).pipe(Layer.provide(Reactivity.layer))
