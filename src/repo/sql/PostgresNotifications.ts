import { Layer, type Redacted } from "effect"
import pg from "pg"
import { Notifications } from "./Notifications.ts"
import { connection, listenOn } from "./PostgresListener.ts"

/** Notifications for a `SqlClient` of the host's own: over one connection to the same database. */
export const layer = (options: { readonly url: Redacted.Redacted }): Layer.Layer<Notifications> =>
  Layer.scoped(
    Notifications,
    listenOn(() => new pg.Client(connection(options.url)))
  )
