/** How a Node server handles too many callers, unread bodies, and callers that wait for 100 (Continue). */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Effect, Layer } from "effect"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import type { ConnectionLimits } from "./ConnectionLimits.ts"
import * as LimitedConnections from "./LimitedConnections.ts"

/** How many bytes of an unread body are discarded after the response; then the connection is closed. */
const maxUnread = 64 * 1024

/** Milliseconds from the end of our side of a connection to its reset: time to read the response. */
const resetAfter = 2_000

const mayExceed = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > maxUnread

/** Reads no more, so TCP stops a caller that continues to send. One that reads finds the response and the end. */
const close = (request: IncomingMessage): void => {
  request.pause()
  request.socket.end()
  setTimeout(() => request.socket.destroy(), resetAfter).unref()
}

/** Node itself would read to the end of the body, of any length, to reuse the connection. */
const closeUnread = (request: IncomingMessage, response: ServerResponse): void => {
  // Before Node's own listener, which would begin to discard unnoticed.
  response.prependOnceListener("finish", () => {
    if (request.complete) return
    let bytes = 0
    request.read(0)
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxUnread) close(request)
    })
  })
}

const awaitingContinue = new WeakSet<IncomingMessage>()

/** Asks for the body if its caller expects that (`Expect: 100-continue`). Call it when nothing else can refuse. */
export const askForBody = (request: IncomingMessage, response: ServerResponse): void => {
  if (awaitingContinue.delete(request)) response.writeContinue()
}

/** Until the scope closes. */
const onWithin = (
  server: Server,
  event: "connection" | "request" | "checkContinue",
  listener: (...args: any) => void
) =>
  Effect.acquireRelease(
    Effect.sync(() => server.on(event, listener)),
    () => Effect.sync(() => server.off(event, listener))
  )

/**
 * Until the scope closes, limits connections, and closes those with unread bodies. A caller that expects 100 gets it
 * from `askForBody`, not from Node before anything is decided. All headers count.
 */
export const layer = (
  server: Server,
  { answersAll = false, limits }: { readonly answersAll?: boolean; readonly limits: ConnectionLimits }
): Layer.Layer<never> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { begin, open } = LimitedConnections.make(limits, yield* TrustedProxies, answersAll)
      yield* onWithin(server, "connection", open)
      yield* onWithin(server, "request", begin)
      // Node ignores those after the first 2,000; their size is limited in any case (16 KiB).
      server.maxHeadersCount = 0
      yield* onWithin(server, "checkContinue", (request, response) => {
        awaitingContinue.add(request)
        server.emit("request", request, response)
      })
      yield* onWithin(server, "request", (request, response) => {
        if (mayExceed(request)) closeUnread(request, response)
      })
    })
  )
