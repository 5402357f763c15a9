import { Context, Effect, Layer, type Redacted } from "effect"
import pg from "pg"
import { Notifications } from "./Notifications.ts"
import { connection } from "./PostgresAddress.ts"
import { openSession } from "./PostgresSession.ts"
import { SessionLocks } from "./SessionLocks.ts"

/** Notifications and locks for the host's own `SqlClient`, over one more connection to the same database. */
export const layer = (options: { readonly url: Redacted.Redacted }): Layer.Layer<Notifications | SessionLocks> =>
  Layer.scopedContext(
    Effect.map(
      openSession(() => new pg.Client(connection(options.url))),
      (session) => Context.make(Notifications, session).pipe(Context.add(SessionLocks, session))
    )
  )
