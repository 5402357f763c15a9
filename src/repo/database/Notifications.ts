import { Context, Effect, Layer, type Scope } from "effect"

/** Our channel of PostgreSQL's NOTIFY. Channels belong to a database. */
export const channel = "webhook_trigger"

/** The handlers of this process. */
export const makeListeners = () => {
  const handlers = new Set<(payload: string) => void>()
  return {
    listen: (handle: (payload: string) => void): Effect.Effect<void, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.sync(() => handlers.add(handle)),
        () => Effect.sync(() => handlers.delete(handle))
      ),
    notify: (payload: string) => {
      for (const handle of handlers) handle(payload)
    }
  }
}

/**
 * Notifications on our channel, including this process's own. A broken connection loses some: they only shorten the
 * wait for the next poll. `PostgresClient.layer` and `PgliteClient.layer` include it. For a `SqlClient` of your own,
 * use `PostgresNotifications.layer` or `Notifications.layerPolling`.
 */
export class Notifications extends Context.Service<
  Notifications,
  {
    /** Calls `handle` with every payload, until the scope closes. */
    readonly listen: (handle: (payload: string) => void) => Effect.Effect<void, never, Scope.Scope>
    /**
     * If no other process listens to this database: calls the handlers of this one, and returns true, so that nothing needs to
     * be notified. Absent: others may listen.
     */
    readonly deliver?: (payload: string) => boolean
  }
>()("webhook-trigger/Notifications") {
  /** No notifications: polling finds changes within a second. */
  static readonly layerPolling: Layer.Layer<Notifications> = Layer.succeed(Notifications, { listen: () => Effect.void })
}
