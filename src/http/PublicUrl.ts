import type { HttpServerRequest } from "@effect/platform"
import { Context, Layer, Option } from "effect"

/**
 * The address at which callers reach the server, without a slash at the end: `https://example.com/hooks`. None: the host
 * that each request names.
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

/** The beginning of an absolute URL. */
export const originFor = (publicUrl: Option.Option<string>, request: HttpServerRequest.HttpServerRequest): string =>
  Option.getOrElse(publicUrl, () => `http://${request.headers.host ?? "localhost"}`)

/** The path that the server is mounted under, if any: the beginning of a URL on the same server. */
export const mountedAt = (publicUrl: Option.Option<string>): string =>
  Option.match(publicUrl, { onNone: () => "", onSome: (url) => new URL(url).pathname.replace(/\/+$/, "") })
