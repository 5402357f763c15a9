/**
 * Compresses responses of the management API. Lists are mostly names of fields: 450 KB of them become 10. Not for
 * triggers, whose responses are small, nor for streams, which are read as they come.
 */

import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { Effect } from "effect"
import { HttpBody, HttpEffect, HttpRouter, HttpServerResponse } from "effect/http"
import { withNumbers } from "../../api/ExactNumbers.ts"

/** In bytes. A shorter response fits in one packet anyway. */
const shortest = 1_024

const gzipped = promisify(gzip)

/** Whether an `Accept-Encoding` names gzip and does not exclude it (RFC 9110, 12.5.3). */
const acceptsGzip = (header: string | undefined): boolean =>
  header?.split(",").some((part) => /^\s*(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0+)?\s*$)[\d.]+\s*)?$/i.test(part)) ?? false

const compressed = (
  response: HttpServerResponse.HttpServerResponse,
  accepted: string | undefined
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { headers } = response
  const body = withNumbers(response.body)
  if (body._tag !== "Uint8Array" || body.body.length < shortest || headers["content-encoding"] !== undefined) {
    return Effect.succeed(body === response.body ? response : HttpServerResponse.setBody(response, body))
  }
  const varying = HttpServerResponse.setHeader(
    body === response.body ? response : HttpServerResponse.setBody(response, body),
    "vary",
    "accept-encoding"
  )
  // An `ETag` is a version for `If-Match`, and would have to differ for each encoding.
  if (headers.etag !== undefined || !acceptsGzip(accepted)) return Effect.succeed(varying)
  return Effect.map(
    Effect.promise(() => gzipped(body.body)),
    (bytes) =>
      HttpServerResponse.setHeader(
        HttpServerResponse.setBody(varying, HttpBody.uint8Array(bytes, body.contentType)),
        "content-encoding",
        "gzip"
      )
  )
}

/** For all routes of the layer that it is provided to. Compresses last, when a handler's `ETag` is in the response. */
export const layer = HttpRouter.middleware((handler) =>
  Effect.tap(handler, () =>
    HttpEffect.appendPreResponseHandler(({ headers }, response) => compressed(response, headers["accept-encoding"]))
  )
).layer
