/**
 * Restricts everything but triggers, leaders and health checks to certain addresses, or to a listener of its own: the
 * management API, the web UI, metrics and the API's description. Anywhere else these paths do not exist.
 */
import { Context, Effect, Layer, Option } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { NotFound } from "../../domain/Errors.ts"
import { type Networks, toNetworks } from "../../runtime/Networks.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import * as RequestLog from "../request/RequestLog.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"

type Request = HttpServerRequest.HttpServerRequest
type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | Request>

/** The addresses with access to the management. None means all, which is the default. */
export class ManagementAccess extends Context.Reference("webhook-trigger/ManagementAccess", {
  defaultValue: () => Option.none<Networks>()
}) {
  /** Addresses and networks in CIDR notation; throws if one is neither. */
  static readonly layer = (networks: Option.Option<ReadonlyArray<string>>): Layer.Layer<never> =>
    Layer.sync(ManagementAccess, () => Option.map(networks, toNetworks))
}

/**
 * Matches only the exact spelling of the routes, with or without the whole URL (`ExactPath`); the router accepts other
 * spellings.
 */
const ofCallers = /^(?:https?:\/\/[^/?#]*)?\/(?:webhook\/|leader\/|health\/(?:live|ready)(?:\?|$))/

const whereAllowed = <E, R>(isAllowed: (request: Request) => boolean, app: App<E, R>): App<E, R> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    ofCallers.test(request.url) || isAllowed(request) ? app : RequestLog.observeUnknownPath(request, new NotFound())
  )

/** The server's routes without those of the management, which has a listener of its own. */
export const withoutManagement = <E, R>(app: App<E, R>): App<E, R> => whereAllowed(() => false, app)

/** The server's routes. Those of the management only answer allowed addresses. */
export const restricted = <E, R>(app: App<E, R>): Effect.Effect<App<E, R>> =>
  Effect.map(Effect.all([ManagementAccess, TrustedProxies]), ([allowed, proxies]) =>
    Option.match(allowed, {
      onNone: () => app,
      onSome: (networks) => whereAllowed((request) => networks.contains(clientAddress(proxies, request)), app)
    })
  )
