import { Layer, type Redacted } from "effect"
import pg from "pg"
import { Notifications } from "./Notifications.ts"
import { connection } from "./PostgresAddress.ts"
import { openSession } from "./PostgresSession.ts"

/** Notifications for the host's own `SqlClient`, over one more connection to the same database. */
export const layer = (options: { readonly url: Redacted.Redacted }): Layer.Layer<Notifications> =>
  Layer.effect(
    Notifications,
    openSession(() => new pg.Client(connection(options.url)))
  )
