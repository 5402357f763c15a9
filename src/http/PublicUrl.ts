import type { HttpServerRequest } from "@effect/platform"
import { Context, Effect, Layer, Option } from "effect"
import { forwarded, TrustedProxies } from "./TrustedProxies.ts"

/**
 * The address at which callers reach the server, without a slash at the end: `https://example.com/hooks`. None: as each
 * request was addressed.
 */
export class PublicUrl extends Context.Reference<PublicUrl>()("webhook-trigger/PublicUrl", {
  defaultValue: () => Option.none<string>()
}) {
  static readonly layer = (url: Option.Option<string>): Layer.Layer<never> =>
    Layer.succeed(
      PublicUrl,
      Option.map(url, (url) => url.replace(/\/+$/, ""))
    )
}

/** The beginning of an absolute URL, as the caller of a request has to write it. */
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

/** The path that the server is mounted under, if any: the beginning of a URL on the same server. */
export const mountedAt = (publicUrl: Option.Option<string>): string =>
  Option.match(publicUrl, { onNone: () => "", onSome: (url) => new URL(url).pathname.replace(/\/+$/, "") })
