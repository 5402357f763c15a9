import { Context, Effect, Layer, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { pages } from "../../api/Pages.ts"
import { forwarded, TrustedProxies } from "./TrustedProxies.ts"
import { reserved } from "./UiPath.ts"

/**
 * The server's address for callers, without a slash at the end: `https://example.com/hooks`. None: the address of each
 * request.
 */
export class PublicUrl extends Context.Reference("webhook-trigger/PublicUrl", {
  defaultValue: () => Option.none<string>()
}) {
  static readonly layer = (url: Option.Option<string>): Layer.Layer<never> =>
    Layer.succeed(
      PublicUrl,
      Option.map(url, (url) => url.replace(/\/+$/, ""))
    )
}

/** The beginning of an absolute URL for the caller of a request. */
export const makeOriginFor: Effect.Effect<(request: HttpServerRequest.HttpServerRequest) => string> = Effect.map(
  Effect.all([PublicUrl, TrustedProxies]),
  ([publicUrl, proxies]) => {
    if (Option.isSome(publicUrl)) return () => publicUrl.value
    return (request) => {
      const scheme = forwarded(proxies, request, "proto") === "https" ? "https" : "http"
      return `${scheme}://${forwarded(proxies, request, "host") ?? request.headers.host ?? "localhost"}`
    }
  }
)

/**
 * The port of the triggers if the management has its own listener. `PublicUrl` is then the address of the triggers, and
 * the management has no such setting.
 */
export class TriggerPort extends Context.Reference("webhook-trigger/TriggerPort", {
  defaultValue: () => Option.none<() => number>()
}) {}

/** The `PublicUrl` of the management. */
export const managementUrl: Effect.Effect<Option.Option<string>> = Effect.map(
  Effect.all([PublicUrl, TriggerPort]),
  ([publicUrl, port]) => (Option.isSome(port) ? Option.none() : publicUrl)
)

/** `makeOriginFor` for the management's own pages. */
export const makeManagementOriginFor = Effect.provideServiceEffect(makeOriginFor, PublicUrl, managementUrl)

/** The listener of the triggers, on the same host as the management's. */
const atPort = (origin: string, port: number): string =>
  URL.canParse(origin) ? `http://${new URL(origin).hostname}:${port}` : origin

/** `makeOriginFor` for the trigger URLs that the management shows. */
export const makeTriggerOriginFor: typeof makeOriginFor = Effect.map(
  Effect.all([makeOriginFor, PublicUrl, TriggerPort]),
  ([originFor, publicUrl, port]) => {
    if (Option.isSome(publicUrl) || Option.isNone(port)) return originFor
    return (request) => atPort(originFor(request), port.value())
  }
)

/** The path under which the server is mounted, if any: the beginning of a URL on the same server. */
export const mountedAt = (publicUrl: Option.Option<string>): string =>
  Option.match(publicUrl, { onNone: () => "", onSome: (url) => new URL(url).pathname.replace(/\/+$/, "") })

const firstName = (path: string): string => path.split(/[/?]/, 2)[1] ?? ""

/** First names of all paths of the server. */
const names = new Set([
  ...[...reserved, ".well-known", "assets", "icon.svg"],
  ...Object.values<string>(pages).flatMap((page) => (page === pages.home ? [] : [firstName(page)]))
])

/**
 * The URL of a request without the path under which the server is mounted. Some proxies remove that path, and some do not. If
 * it begins like a path of the server, such as `/webhooks`, it is removed only in front of one.
 */
export const withoutMount = (mount: string, url: string): string => {
  if (mount === "" || !url.startsWith(mount) || !/^([/?]|$)/.test(url.slice(mount.length))) return url
  const rest = url.slice(mount.length)
  if (names.has(firstName(mount)) && firstName(rest) !== "" && !names.has(firstName(rest))) return url
  return rest.startsWith("/") ? rest : `/${rest}`
}
