import type { HttpServerRequest } from "@effect/platform"
import { Context, Layer, Option } from "effect"

/**
 * Where callers reach the server, without a slash at the end: `https://example.com/hooks`. None: as the request at hand
 * was addressed.
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

/** The start of an absolute address. */
export const originFor = (publicUrl: Option.Option<string>, request: HttpServerRequest.HttpServerRequest): string =>
  Option.getOrElse(publicUrl, () => `http://${request.headers.host ?? "localhost"}`)

/** The start of an address on the same server: the path it is mounted under, if any. */
export const mountedAt = (publicUrl: Option.Option<string>): string =>
  Option.match(publicUrl, { onNone: () => "", onSome: (url) => new URL(url).pathname.replace(/\/+$/, "") })
