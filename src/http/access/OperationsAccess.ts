/** Access to what operators and developers read: metrics and the API's description. */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { Unauthorized } from "../../domain/Errors.ts"
import { isSecret } from "../../engine/verify/Signing.ts"
import { bearerOf } from "./Bearer.ts"

/** Anyone may read both, unless the operator restricts it. */
export class OperationsAccess extends Context.Reference("webhook-trigger/OperationsAccess", {
  defaultValue: (): {
    readonly metricsToken: Option.Option<Redacted.Redacted>
    readonly apiDocs: boolean
  } => ({ metricsToken: Option.none(), apiDocs: true })
}) {
  static readonly layer = (access: {
    readonly metricsToken: Option.Option<Redacted.Redacted>
    readonly apiDocs: boolean
  }): Layer.Layer<never> => Layer.succeed(OperationsAccess, access)
}

const refused = new Unauthorized({ detail: "Send `Authorization: Bearer <METRICS_TOKEN>`." })

/** Fails if the metrics need a token and the request does not have it. */
export const checkMetricsToken: Effect.Effect<Effect.Effect<void, Unauthorized, HttpServerRequest.HttpServerRequest>> =
  Effect.map(OperationsAccess, ({ metricsToken }) =>
    Option.match(metricsToken, {
      onNone: () => Effect.void,
      onSome: (token) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
          isSecret(Buffer.from(bearerOf(request) ?? ""), Buffer.from(Redacted.value(token)))
            ? Effect.void
            : Effect.fail(refused)
        )
    })
  )

/** The route of a page of the API's description; an empty layer if the description is turned off. */
export const ifApiDocs = <A, E, R>(route: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.unwrap(Effect.map(OperationsAccess, ({ apiDocs }) => (apiDocs ? route : (Layer.empty as Layer.Layer<A>))))
