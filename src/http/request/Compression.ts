/**
 * Compresses responses of the management API. Lists are mostly names of fields: 450 KB of them become 10. Not for
 * triggers, whose responses are small, nor for streams, which are read as they come.
 */

import { Effect } from "effect"
import { HttpEffect, HttpMiddleware, HttpPlatform, HttpRouter, HttpServerResponse } from "effect/http"
import { withNumbers } from "../../api/ExactNumbers.ts"

/** Not shorter ones than 1,024 bytes, which fit in one packet anyway. No format of exports or events is JSON. */
const gzip = HttpMiddleware.compression({
  algorithms: ["gzip"],
  minSize: 1_024,
  compressible: (type) => type.startsWith("application/json")
})

/** Its `ETag` is a version for `If-Match`, and would have to differ for each encoding: such a response stays as it is. */
const prepared = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const body = withNumbers(response.body)
  const exact = body === response.body ? response : HttpServerResponse.setBody(response, body)
  return exact.headers.etag === undefined ? exact : HttpServerResponse.setHeader(exact, "content-encoding", "identity")
}

/** For all routes of the layer that it is provided to. Compresses last, when a handler's `ETag` is in the response. */
export const layer = HttpRouter.middleware(
  Effect.map(
    HttpPlatform.HttpPlatform,
    (platform) => (handler) =>
      Effect.flatMap(handler, (response) =>
        gzip(Effect.succeed(response)).pipe(
          HttpEffect.withPreResponseHandler((_, response) => Effect.succeed(prepared(response))),
          Effect.provideService(HttpPlatform.HttpPlatform, platform)
        )
      )
  )
).layer
