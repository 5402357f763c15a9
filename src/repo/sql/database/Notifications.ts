import { Context, Effect, Layer, type Scope } from "effect"

/** The channel of PostgreSQL's NOTIFY that is ours; channels belong to one database. */
export const channel = "webhook_trigger"

/**
 * What is notified on our channel, by this process too. A connection that breaks loses some: they only save waiting for
 * the next poll. `PostgresClient.layer` and `PgliteClient.layer` come with it; beside a `SqlClient` of your own stands
 * `PostgresNotifications.layer`, or `Notifications.layerPolling`.
 */
export class Notifications extends Context.Tag("webhook-trigger/Notifications")<
  Notifications,
  {
    /** Calls `handle` with every payload, until the scope closes. */
    readonly listen: (handle: (payload: string) => void) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  /** No notifications: changes are found by polling, a second later at the most. */
  static readonly layerPolling: Layer.Layer<Notifications> = Layer.succeed(Notifications, { listen: () => Effect.void })
}
