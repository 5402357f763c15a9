/** A file that is written while it is read. */

import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Duration, Effect, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Body from "../../request/Body.ts"

type Request = HttpServerRequest.HttpServerRequest

export interface File {
  readonly contentType: string
  /** Its name. */
  readonly file: string
}

/** Node calls back when nothing was sent for this long, perhaps because nothing was found. */
const disconnectUnread = (request: Request, patience: Duration.Input): void => {
  if (Body.nodeRequest(request) === undefined) return
  const response = NodeHttpServerRequest.toServerResponse(request)
  response.setTimeout(Duration.toMillis(patience), () => {
    if (response.writableNeedDrain) response.destroy()
  })
}

/**
 * A failure of the text closes the connection, so that nobody takes a part for the whole. So does a client that reads
 * nothing for as long as `patience`.
 */
export const respond = <E>(
  request: Request,
  { contentType, file }: File,
  text: Stream.Stream<string, E>,
  patience: Duration.Input
): HttpServerResponse.HttpServerResponse => {
  const body = text.pipe(
    Stream.encodeText,
    Stream.tapCause(() => Effect.sync(() => Body.nodeRequest(request)?.destroy()))
  )
  disconnectUnread(request, patience)
  return HttpServerResponse.stream(body, {
    contentType,
    headers: { "content-disposition": `attachment; filename="${file}"`, "x-accel-buffering": "no" }
  })
}
