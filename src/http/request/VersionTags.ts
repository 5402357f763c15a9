/** A record's version as an entity tag (RFC 9110, 8.8.3), for `ETag` and `If-Match`. */
import { Effect } from "effect"
import { HttpEffect, type HttpServerRequest, HttpServerResponse } from "effect/http"

/** Adds `ETag` to the response. */
export const writeTag = ({
  version
}: {
  readonly version: number
}): Effect.Effect<void, never, HttpServerRequest.HttpServerRequest> =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeader(response, "etag", `"${version}"`))
  )

/**
 * The versions that `If-Match` allows; `undefined`: any. Compared strongly (RFC 9110, 13.1.1), so weak and foreign tags
 * allow nothing.
 */
export const expectedVersions = (request: HttpServerRequest.HttpServerRequest): ReadonlyArray<number> | undefined => {
  const header = request.headers["if-match"]?.trim()
  if (header === undefined || header === "*") return undefined
  return header.split(",").flatMap((tag) => {
    const version = /^"(\d{1,15})"$/.exec(tag.trim())?.[1]
    return version === undefined ? [] : Number(version)
  })
}
