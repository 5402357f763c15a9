/**
 * The SQL client of PostgreSQL and of PGlite, on the wire protocol of `@effect/sql-pg`: sessions that end their statements in
 * bounded time, and a pool of them.
 */
import type { Duplex } from "node:stream"
import { makeCompiler } from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Clock, Effect, type Exit, Pool, Result, type Scope, Stream } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import * as Json from "../../domain/Json.ts"
import { pause } from "../../runtime/Pause.ts"
import { causeOf, codeOf, readOnly, sqlErrorOf } from "./Database.ts"

/**
 * Plans are kept, and a table that was small when a statement was planned grows, so sequential scans are off. Compiling
 * a statement takes longer than running any of ours, however large PostgreSQL estimates the tables.
 */
export const planSettings = { enable_seqscan: "off", jit: "off" }

/** Milliseconds: how long a statement waits for a connection, and how long a silent server delays the end of one. */
const connectTimeout = 5_000
const closeTimeout = 2_000

/** PostgreSQL's limit for a value: some rows have a large file. */
const maxMessageSize = 2 ** 30

/** The type `json`: numbers of callers stay as they were written. */
const types = PgTypes.makeRegistry()
types.register(PgTypes.OID.json, {
  encode: (value) => Result.succeed(Buffer.from(Json.stringify(value))),
  decode: (bytes) => Result.succeed(Json.parse(Buffer.from(bytes).toString()))
})

export interface SessionOptions {
  readonly config: PgConnection.Config
  readonly connect: () => Duplex
  /**
   * Made after connecting: PgBouncer refuses most of them as parameters of the connection, and those in the URL would
   * override ours.
   */
  readonly settings: Readonly<Record<string, string>>
  /**
   * A session whose statement has no answer after so many milliseconds is cut. Absent: the database is in this process.
   * Its statements cannot be cancelled, so their callers wait for them.
   */
  readonly silence?: number
  /** A statement has ended; with the cause, if it failed. */
  readonly ended?: (statement: string, cause: unknown) => void
}

/** No statement was sent. */
const notConnected = (cause: unknown): SqlError.SqlError =>
  new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause, operation: "connect" }) })

/** A connection, for one statement at a time. */
export class Session implements SqlConnection.Connection {
  /** Called when it cannot be used any more. */
  retire = (): void => {}
  readonly connection: PgConnection.PgConnection
  private readonly socket: Duplex
  private readonly options: SessionOptions

  constructor(connection: PgConnection.PgConnection, socket: Duplex, options: SessionOptions) {
    this.connection = connection
    this.socket = socket
    this.options = options
    socket.once("close", () => this.retire())
  }

  /** Its statement fails at once. */
  readonly cut = (): void => {
    this.socket.destroy(new Error("the database does not answer"))
  }

  private watch<A, R>(
    sql: string,
    statement: Effect.Effect<A, SqlError.SqlError, R>
  ): Effect.Effect<A, SqlError.SqlError, R> {
    const { ended, silence } = this.options
    const settle = (exit: Exit.Exit<A, SqlError.SqlError>): undefined => {
      const error = exit._tag === "Failure" ? sqlErrorOf(exit.cause) : undefined
      // The cancellation of an interrupted statement may only arrive at the next one.
      if (exit._tag === "Failure" && (error === undefined || error.reason._tag === "ConnectionError")) this.retire()
      if (exit._tag === "Success" || error !== undefined) ended?.(sql, error && causeOf(error))
    }
    if (silence === undefined) return Effect.uninterruptible(Effect.onExitPrimitive(statement, settle))
    return Effect.suspend(() => {
      const timer = setTimeout(this.cut, silence)
      return Effect.onExitPrimitive(statement, (exit) => {
        clearTimeout(timer)
        return settle(exit)
      })
    })
  }

  private run(sql: string, params: ReadonlyArray<unknown>, isPrepared: boolean, transform: Transform | undefined) {
    const result = this.watch(sql, this.connection.query(sql, params, isPrepared))
    return Effect.map(result, ({ rows }) => (transform === undefined ? rows : transform(rows)))
  }

  execute(sql: string, params: ReadonlyArray<unknown>, transform?: Transform) {
    return this.run(sql, params, true, transform)
  }
  executeUnprepared(sql: string, params: ReadonlyArray<unknown>, transform?: Transform) {
    return this.run(sql, params, false, transform)
  }
  executeRaw(sql: string, params: ReadonlyArray<unknown>) {
    return this.watch(sql, this.connection.query(sql, params))
  }
  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return this.watch(sql, this.connection.queryValues(sql, params))
  }
  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return this.watch(sql, this.connection.queryValues(sql, params, false))
  }
  /** The notifications of a channel, until the scope closes. The queue fails when the connection breaks. */
  listen(channel: string) {
    return this.watch("listen", this.connection.listen(channel))
  }
  executeStream(sql: string, params: ReadonlyArray<unknown>, transform?: Transform) {
    return Stream.fromIterableEffect(this.execute(sql, params, transform))
  }
}

type Transform = Parameters<SqlConnection.Connection["execute"]>[2] & {}

/** A test's clock does not make the database faster. */
const onSystemClock = Effect.provideService(Clock.Clock, Clock.Clock.defaultValue())

export const openSession = (options: SessionOptions): Effect.Effect<Session, SqlError.SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const sockets: Array<Duplex> = []
    const connection = yield* PgConnection.make({
      connectTimeout,
      maxMessageSize,
      types,
      ...options.config,
      // The first is the session's. Others carry what cancels its statements.
      stream: () => sockets[sockets.push(options.connect()) - 1]!
    })
    const session = new Session(yield* connection.pin, sockets[0]!, options)
    yield* Effect.addFinalizer(() => Effect.sync(() => setTimeout(session.cut, closeTimeout).unref()))
    const settings = Object.entries(options.settings).map(([name, value]) => `set_config('${name}', '${value}', false)`)
    yield* Effect.mapError(session.executeUnprepared(`select ${settings.join(", ")}`, []), (error) =>
      notConnected(causeOf(error))
    )
    return session
  }).pipe(onSystemClock)

export const isReadOnly = (session: Session): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(session.executeValuesUnprepared(`select ${readOnly}`, []), ([row]) => row?.[0] === "on")

/** The code of a server that does not write. */
const readOnlyTransaction = "25006"

/** In milliseconds: a database that stays read-only does not get a new connection for every statement. */
const replaceEvery = 1_000

interface PoolOptions extends SessionOptions {
  /** How many sessions stay open when they are idle. Default: 0. */
  readonly min?: number
  readonly max: number
}

export type SessionPool = Pool.Pool<Session, SqlError.SqlError>

/**
 * Sessions, opened when needed. After a failover, some may still lead to the former primary: once it has refused to write,
 * none from before is used again.
 */
const makePool = (options: PoolOptions): Effect.Effect<SessionPool, never, Scope.Scope> =>
  Effect.gen(function* () {
    let replacedAt = Number.NEGATIVE_INFINITY
    const retire = (session: Session): void => {
      Effect.runFork(Pool.invalidate(pool, session))
    }
    const sessions = () => [...pool.state.items].flatMap(({ exit }) => (exit._tag === "Success" ? exit.value : []))
    const ended = (statement: string, cause: unknown): void => {
      options.ended?.(statement, cause)
      if (codeOf(cause) !== readOnlyTransaction || performance.now() - replacedAt < replaceEvery) return
      replacedAt = performance.now()
      for (const session of sessions()) retire(session)
    }
    const acquire = Effect.map(openSession({ ...options, ended }), (session) =>
      Object.assign(session, { retire: () => retire(session) })
    )
    const pool: SessionPool = yield* Pool.makeWithTTL({
      acquire,
      min: options.min ?? 0,
      max: options.max,
      timeToLive: "30 seconds",
      timeToLiveStrategy: "usage"
    })
    const cutAll = () => {
      for (const { cut } of sessions()) cut()
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => setTimeout(cutAll, closeTimeout).unref()))
    return pool
  }).pipe(onSystemClock)

/** PostgreSQL answers `ROLLBACK` if a statement of the transaction has failed, although its failure was handled. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) => {
    if ((result as PgConnection.Result).command !== "ROLLBACK") return Effect.void
    const cause = Object.assign(new Error("a failed transaction was rolled back"), { code: "25P02", severity: "ERROR" })
    return Effect.fail(new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause, operation: "commit" }) }))
  })

/** A client and its pool. `system`: the database's name in traces. */
export const makeClient = Effect.fnUntraced(function* (options: PoolOptions, system: string) {
  const pool = yield* makePool(options)
  const { state } = pool
  const tooLate = Effect.andThen(pause(connectTimeout), Effect.fail(notConnected(new Error("no connection is free"))))
  const awaited = (options.silence === undefined ? Pool.get(pool) : Effect.raceFirst(Pool.get(pool), tooLate)).pipe(
    Effect.catchCause((cause) =>
      state.isShuttingDown ? Effect.fail(notConnected(new Error("the pool has ended"))) : Effect.failCause(cause)
    )
  )
  const isFree = () => state.waiters.size === 0 && state.availableHead?.exit._tag === "Success"
  const acquirer = Effect.suspend(() => (isFree() ? Pool.get(pool) : awaited))
  const sql = yield* SqlClient.make({
    acquirer,
    transactionAcquirer: acquirer,
    borrower: (use) =>
      Effect.suspend(() => (isFree() ? Pool.use(pool, use) : Effect.scoped(Effect.flatMap(awaited, use)))),
    compiler: makeCompiler(),
    commit,
    prepareTransactionControls: true,
    driver: "webhook-trigger",
    spanAttributes: [["db.system.name", system]]
  })
  return { sql, pool }
}, Effect.provide(Reactivity.layer))
