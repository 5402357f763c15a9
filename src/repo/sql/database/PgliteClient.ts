import { setImmediate } from "node:timers/promises"
import { Reactivity } from "@effect/experimental"
import { Context, Effect, identity, Layer, Schedule, type Scope, Semaphore, Stream } from "effect"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import type { PGlite } from "@electric-sql/pglite"
import { type DataFolderInUse, type DataFolderUnusable, hold } from "./DataFolder.ts"
import { migrate } from "./Migrations.ts"
import { channel, makeListeners, Notifications } from "./Notifications.ts"
import { open } from "./PgliteDatabase.ts"
import * as Refusals from "./Refusals.ts"
import { planSettings, preparedStatements } from "./Session.ts"

export interface PgliteOptions {
  /** The folder for the rows; absent: in memory. */
  readonly folder?: string
}

/** PGlite has no autovacuum. Without this, entries of ended runs fill the lane's index. */
const vacuumEvery = "10 minutes"

type RowMode = "object" | "array"

/** PGlite itself makes a text of each byte: a file of 5 MB would block this process for a second. */
const hexOf = ({ buffer, byteLength, byteOffset }: Uint8Array): string =>
  `\\x${Buffer.from(buffer, byteOffset, byteLength).toString("hex")}`

/**
 * Runs statements that are prepared once. `PGlite.query` would parse and plan each call, and enter and leave
 * WebAssembly six times.
 */
const preparing = (db: PGlite, { parse, protocol }: typeof import("@electric-sql/pglite")) => {
  const { serialize } = protocol
  const parameterTypes = new Map<string, ReadonlyArray<number>>()
  const exchange = (...messages: ReadonlyArray<Uint8Array>) => db.execProtocolStream(Buffer.concat(messages))
  const unused: Array<string> = []
  const preparedName = preparedStatements((name) => unused.push(name))

  const prepare = async (name: string, text: string): Promise<ReadonlyArray<number>> => {
    const closed = unused.splice(0)
    for (const old of closed) parameterTypes.delete(old)
    const answers = await exchange(
      ...closed.map((old) => serialize.close({ type: "S", name: old })),
      serialize.parse({ name, text }),
      serialize.describe({ type: "S", name }),
      serialize.sync()
    )
    const types = parse.parseDescribeStatementResults(answers)
    parameterTypes.set(name, types)
    return types
  }

  return (text: string, params: ReadonlyArray<unknown>, rowMode: RowMode) => {
    const name = params.length === 0 ? undefined : preparedName(text)
    if (name === undefined) return db.query<any>(text, [...params], { rowMode })
    return db.runExclusive(async () => {
      const types = parameterTypes.get(name) ?? (await prepare(name, text))
      const values = params.map((value, index) => {
        if (value === null || value === undefined) return null
        if (value instanceof Uint8Array) return hexOf(value)
        return (db.serializers[types[index]!] ?? String)(value)
      })
      const answers = await exchange(
        serialize.bind({ statement: name, values }),
        serialize.describe({ type: "P" }),
        serialize.execute({}),
        serialize.sync()
      )
      return parse.parseResults(answers, db.parsers, { rowMode })[0]!
    })
  }
}

const makeConnection = (run: ReturnType<typeof preparing>, refusals: Refusals.Refusals): SqlConnection.Connection => {
  // A statement cannot be cancelled, so its caller waits for it; otherwise the next would find an unfinished
  // transaction. It blocks the event loop, so there is a pause between two statements: requests arrive in it, and share
  // group commits (without it, 64 callers get 42 triggers a second).
  const query = (sql: string, params: ReadonlyArray<unknown>, rowMode: RowMode = "object") =>
    Effect.uninterruptible(
      Effect.tryPromise({
        try: async () => {
          await setImmediate()
          const result = await run(sql, params, rowMode)
          refusals.ended(sql, undefined)
          return result
        },
        catch: (cause) => {
          refusals.ended(sql, cause)
          return new SqlError.SqlError({ cause, message: "Failed to execute statement" })
        }
      })
    )
  const execute: SqlConnection.Connection["execute"] = (sql, params, transform) =>
    Effect.map(query(sql, params), ({ rows }) => (transform ? transform(rows) : rows))
  return {
    execute,
    executeRaw: query,
    executeUnprepared: execute,
    executeValues: (sql, params) => Effect.map(query(sql, params, "array"), ({ rows }) => rows),
    executeStream: (sql, params, transform) => Stream.fromIterableEffect(execute(sql, params, transform))
  }
}

/** Like `PgClient`, whose module would load `pg`. */
const compiler = Statement.makeCompiler({
  dialect: "pg",
  placeholder: (index) => `$${index}`,
  onIdentifier: Statement.defaultEscape('"'),
  onRecordUpdate: (placeholders, alias, columns, values) => [
    `(values ${placeholders}) AS ${alias}${columns}`,
    values.flat()
  ],
  onCustom: (type) => {
    throw new Error(`not supported: ${type.kind}`)
  }
})

/** PGlite has one session: a transaction excludes all other statements until it ends. */
const makeClient = Effect.fnUntraced(function* (db: PGlite, use: Use) {
  const run = preparing(db, yield* Effect.promise(() => import("@electric-sql/pglite")))
  const connection = makeConnection(run, yield* Refusals.make)
  const turn = Semaphore.makeUnsafe(1)
  const taken = use(
    Effect.as(
      Effect.acquireRelease(turn.take(1), () => turn.release(1)),
      connection
    )
  )
  return yield* SqlClient.make({
    acquirer: taken,
    transactionAcquirer: taken,
    compiler,
    spanAttributes: [["db.system.name", "pglite"]]
  })
})

/** What surrounds each use of the session. */
export type Use = (
  taken: Effect.Effect<SqlConnection.Connection, never, Scope.Scope>
) => Effect.Effect<SqlConnection.Connection, never, Scope.Scope>

/**
 * A migrated database in this process, until the scope closes. Without limits of time: their timers fire between two statements,
 * where they end none that takes long, but may cancel the next one.
 */
export const connect = Effect.fnUntraced(function* (db: PGlite, use: Use = identity) {
  yield* Effect.promise(() => db.exec(planSettings))
  const client = yield* makeClient(db, use)
  yield* Effect.orDie(Effect.provideService(migrate, SqlClient.SqlClient, client))
  const listeners = makeListeners()
  yield* Effect.acquireRelease(
    Effect.promise(() => db.listen(channel, listeners.notify)),
    (stop) => Effect.promise(() => stop())
  )
  // The database is this process's alone.
  const deliver = (payload: string) => {
    listeners.notify(payload)
    return true
  }
  return Context.make(SqlClient.SqlClient, client).pipe(
    Context.add(Notifications, { listen: listeners.listen, deliver })
  )
}, Effect.provide(Reactivity.layer))

/**
 * PostgreSQL in this process, migrated. For trying out and for single processes: a commit survives the process, even if
 * killed, but not a power failure.
 */
export const layer = (
  options: PgliteOptions = {}
): Layer.Layer<SqlClient.SqlClient | Notifications, DataFolderInUse | DataFolderUnusable> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { folder } = options
      if (folder !== undefined) yield* hold(folder)
      const context = yield* connect(yield* open(folder))
      const client = Context.get(context, SqlClient.SqlClient)
      // The folder is this process's alone, so it need not wait for another server's tick.
      yield* Effect.orDie(client`update webhook_trigger.ticks set ticked_at = '-infinity'`)
      yield* client`vacuum (analyze) webhook_trigger.runs`.pipe(
        Effect.ignoreCause({ log: "Debug" }),
        Effect.repeat(Schedule.spaced(vacuumEvery)),
        Effect.forkScoped
      )
      return context
    })
  )
