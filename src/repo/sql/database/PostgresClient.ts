import { Reactivity } from "@effect/experimental"
import { Context, Effect, Layer, type Redacted, Schedule, type Scope } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { PgClient } from "@effect/sql-pg"
import pg from "pg"
import type { Unavailable } from "../../../domain/Errors.ts"
import { setNeverSent, unavailable } from "./Database.ts"
import { migrate } from "./Migrations.ts"
import { Notifications } from "./Notifications.ts"
import * as PoolMetrics from "./PoolMetrics.ts"
import { addressFault, advice, codeOf, connection, isPermanent } from "./PostgresAddress.ts"
import { openSession } from "./PostgresSession.ts"
import * as Refusals from "./Refusals.ts"
import { planSettings, preparedStatements, readOnly, sessionSettings, silence } from "./Session.ts"
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

/** In milliseconds. */
const closeTimeout = 2_000

/** How long the start waits for an unreachable database. */
const startTimeout = "30 seconds"

/**
 * Cuts a connection with an unanswered statement. `pg` has `query_timeout`, but returns the connection to the pool,
 * where the next statement waits behind the first.
 */
const boundedClient = ({ ended }: Refusals.Refusals): typeof pg.Client =>
  class extends pg.Client {
    private readonly preparedName = preparedStatements((name) => {
      const { connection } = this as any
      connection.close({ type: "S", name })
      delete connection.parsedStatements[name]
      delete connection.submittedNamedStatements[name]
    })

    override query(...args: ReadonlyArray<any>): any {
      const last = args.at(-1)
      if (typeof last !== "function") return (super.query as any)(...args)
      const timer = setTimeout(() => {
        ;(this as any).connection.stream.destroy(new Error("the database does not answer"))
      }, silence)
      const [statement, values] = args
      const callback = (error: unknown, ...results: ReadonlyArray<unknown>) => {
        clearTimeout(timer)
        if (codeOf(error) === readOnlyTransaction) this.emit(isReadOnly)
        if (typeof statement === "string") ended(statement, error)
        last(error, ...results)
      }
      return typeof statement === "string" && Array.isArray(values) && values.length > 0
        ? (super.query as any)({ name: this.preparedName(statement), text: statement, values }, callback)
        : (super.query as any)(...args.slice(0, -1), callback)
    }
  }

/** The event of a connection whose server has refused to write. */
const isReadOnly = "webhook-trigger read-only"
const readOnlyTransaction = "25006"

/** In milliseconds: a database that stays read-only does not get a new connection for every statement. */
const replaceEvery = 1_000

/**
 * Marks the errors of statements that found no connection. After a failover, connections may still lead to the former
 * primary: once it has refused to write, no connection from before is used again.
 */
class OurPool extends pg.Pool {
  private readonly opened = new WeakMap<pg.PoolClient, number>()
  private replacedAt = Number.NEGATIVE_INFINITY

  constructor(config: pg.PoolConfig) {
    super(config)
    this.on("connect", (client) => {
      this.opened.set(client, performance.now())
      client.on(isReadOnly as "end", () => {
        if (performance.now() - this.replacedAt > replaceEvery) this.replacedAt = performance.now()
      })
    })
    // An idle connection broke. The pool opens another one when needed.
    this.on("error", () => {})
  }

  override connect(callback?: (...results: ReadonlyArray<any>) => void): any {
    if (callback === undefined) return super.connect()
    super.connect((error, client, release) => {
      if (error) setNeverSent(error)
      if (client === undefined || this.opened.get(client)! > this.replacedAt) return callback(error, client, release)
      release(true)
      this.connect(callback)
    })
  }
}

const makePool = (config: pg.PoolConfig, settings: string): Effect.Effect<pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const onConnect = (client: pg.ClientBase) =>
        new Promise<void>((resolve, reject) => {
          client.query(settings, (error) => (error ? reject(error) : resolve()))
        })
      return new OurPool({ ...config, onConnect })
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

const describe = (error: unknown): string => {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  const said = [code, message].filter((part) => typeof part === "string" && part !== "").join(": ") || "no answer"
  return [said, advice(error)].filter((part) => part !== undefined).join(". ")
}

/** Waits until the database can be used: after a failover, for the new primary. */
const start = (client: SqlClient.SqlClient): Effect.Effect<void, Unavailable> =>
  Effect.suspend(() => {
    let reason = "no answer"
    const failed = ({ cause }: SqlError.SqlError) => {
      reason = describe(cause)
      return Effect.logWarning(`The database cannot be used yet: ${reason}`)
    }
    const fail = () => unavailable(`The database cannot be used: ${reason}`)
    return client<{ readonly read_only: string }>`select ${client.literal(readOnly)} as read_only`.pipe(
      Effect.filterOrFail(
        ([row]) => row?.read_only !== "on",
        () => new SqlError.SqlError({ message: "read-only", cause: { message: "it is read-only" } })
      ),
      Effect.tapError(failed),
      Effect.retry({ while: ({ cause }) => !isPermanent(cause), schedule: Schedule.spaced("1 second") }),
      Effect.timeoutOrElse({ duration: startTimeout, orElse: fail }),
      Effect.mapError(fail)
    )
  })

const clientOf = (pool: pg.Pool) => Effect.orDie(PgClient.fromPool({ acquire: Effect.succeed(pool) }))

/**
 * PostgreSQL, migrated. At the start, waits half a minute for an unreachable database. Later, broken connections are
 * replaced, and every statement ends in bounded time.
 */
export const layer = (options: PostgresOptions): Layer.Layer<SqlClient.SqlClient | Notifications, Unavailable> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const fault = addressFault(options.url)
      if (fault !== undefined) return yield* unavailable(`The database's address ${fault}`)
      // A migration may take any time, so its session has no time limits. Each attempt has a new connection.
      yield* Effect.gen(function* () {
        const client = yield* clientOf(
          yield* makePool({ ...connection(options.url), max: 1, maxUses: 1 }, planSettings)
        )
        yield* start(client)
        yield* Effect.provideService(migrate, SqlClient.SqlClient, client).pipe(
          Effect.catchTag("SqlError", (error) =>
            Effect.fail(unavailable(`The database's tables cannot be created: ${describe(error.cause)}`))
          ),
          Effect.catchTag("MigrationError", Effect.die)
        )
      }).pipe(Effect.scoped)

      const max = options.maxConnections ?? 10
      const Client = boundedClient(yield* Refusals.make)
      const forSteps = Math.min(mostForSteps, Math.floor(max / 3))
      const open = (max: number) =>
        makePool({ ...connection(options.url), max, idleTimeoutMillis: 30_000, Client }, sessionSettings)
      const pool = yield* open(max - forSteps)
      const ofSteps = forSteps === 0 ? [] : [yield* open(forSteps)]
      yield* PoolMetrics.observe([pool, ...ofSteps], max)
      const client = yield* clientOf(pool)
      yield* start(client)
      const session = yield* openSession(() => new pg.Client(connection(options.url)))
      return Context.make(SqlClient.SqlClient, client).pipe(
        Context.add(StepClient, yield* clientOf(ofSteps[0] ?? pool)),
        Context.add(Notifications, session)
      )
    })
  ).pipe(Layer.provide(Reactivity.layer))
