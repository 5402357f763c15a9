import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type DataFolderInUse, type DataFolderUnusable, hold } from "./DataFolder.ts"
import type { Notifications } from "./Notifications.ts"
import { connect, open } from "./PgliteDatabase.ts"

export interface PgliteOptions {
  /** The folder for the rows; absent: in memory. */
  readonly folder?: string
}

/** PGlite has no autovacuum. Without this, entries of ended runs fill the lane's index. */
const vacuumEvery = "10 minutes"

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
