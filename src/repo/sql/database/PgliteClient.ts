import type { PGlite } from "@electric-sql/pglite"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type DataFolderInUse, type DataFolderUnusable, hold } from "./DataFolder.ts"
import { makeClient, planSettings } from "./Driver.ts"
import { migrate } from "./Migrations.ts"
import { channel, makeListeners, Notifications } from "./Notifications.ts"
import { open } from "./PgliteDatabase.ts"
import { PgliteSocket, type PgliteSocketOptions } from "./PgliteSocket.ts"
import * as Refusals from "./Refusals.ts"

export interface PgliteOptions {
  /** The folder for the rows; absent: in memory. */
  readonly folder?: string
}

/** PGlite has no autovacuum. Without this, entries of ended runs fill the lane's index. */
const vacuumEvery = "10 minutes"

/**
 * A migrated database in this process, until the scope closes. It has one session: a transaction excludes all other
 * statements until it ends. Without limits of time: their timers fire between two statements, where they end none that takes
 * long, but may cancel the next one.
 */
export const connect = Effect.fnUntraced(function* (db: PGlite, options: Pick<PgliteSocketOptions, "before"> = {}) {
  const listeners = makeListeners()
  const socket = new PgliteSocket(db, { ...options, notify: listeners.notify })
  const { ended } = yield* Refusals.make
  const session = { config: { username: "postgres", ssl: false }, connect: () => socket, settings: planSettings, ended }
  const { sql } = yield* makeClient({ ...session, max: 1 }, "pglite")
  yield* Effect.orDie(Effect.provideService(migrate, SqlClient.SqlClient, sql))
  yield* Effect.orDie(sql`listen ${sql.literal(channel)}`)
  // The database is this process's alone.
  const deliver = (payload: string) => {
    listeners.notify(payload)
    return true
  }
  return {
    socket,
    services: Context.make(SqlClient.SqlClient, sql).pipe(
      Context.add(Notifications, { listen: listeners.listen, deliver })
    )
  }
})

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
      const { services } = yield* connect(yield* open(folder))
      const client = Context.get(services, SqlClient.SqlClient)
      // The folder is this process's alone, so it need not wait for another server's tick.
      yield* Effect.orDie(client`update webhook_trigger.ticks set ticked_at = '-infinity'`)
      yield* client`vacuum (analyze) webhook_trigger.runs`.pipe(
        Effect.ignoreCause({ log: "Debug" }),
        Effect.repeat(Schedule.spaced(vacuumEvery)),
        Effect.forkScoped
      )
      return services
    })
  )
