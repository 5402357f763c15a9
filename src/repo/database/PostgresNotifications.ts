import { Effect, Layer, type Redacted } from "effect"
import { Notifications } from "./Notifications.ts"
import { sessionOf } from "./PostgresAddress.ts"
import { listen } from "./PostgresListener.ts"

/** Notifications for the host's own `SqlClient`, over one more connection to the same database. */
export const layer = (options: { readonly url: Redacted.Redacted }): Layer.Layer<Notifications> =>
  Layer.effect(
    Notifications,
    Effect.suspend(() => listen(sessionOf(options.url)))
  )
