import { createServer, type Server, type ServerResponse } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Data, Duration, Effect, Layer } from "effect"
import { Shutdown } from "../engine/Shutdown.ts"

/** The server cannot listen on the address. */
export class CannotListen extends Data.TaggedError("CannotListen")<{
  readonly host: string
  readonly port: number
  /** As Node names it, for example `EADDRINUSE`. */
  readonly code: string
}> {}

/** How long the last callers' responses may take to be sent once `stopWaiting` has ended their wait. */
const lastResponses = Duration.seconds(2)

/**
 * Connections that wait to be accepted. With Node's default, 511, a thousand callers at the same moment were reset; the
 * operating system has its own limit (Linux: `net.core.somaxconn`, 4,096).
 */
const backlog = 4096

export interface Listener {
  readonly layer: Layer.Layer<Layer.Layer.Success<ReturnType<typeof NodeHttpServer.layer>>, CannotListen>
  /**
   * Shuts down in order: first nothing new is accepted while waiting callers still get their answers, for up to
   * `grace`; then the rest get 503 and `Retry-After`; then the sockets are closed. Build it last, so that it closes
   * first.
   */
  readonly drain: (grace: Duration.Duration) => Layer.Layer<never, never, Shutdown>
}

/** An HTTP server that listens once its layer is built. */
export const make = (address: { readonly host: string; readonly port: number }): Listener => {
  const server = createServer()
  const requests = trackRequests(server)
  return {
    layer: NodeHttpServer.layer(() => server, { ...address, backlog }).pipe(
      Layer.mapError(
        ({ cause }) =>
          new CannotListen({ ...address, code: String((cause as NodeJS.ErrnoException | undefined)?.code ?? cause) })
      )
    ),
    drain: (grace) =>
      Layer.scopedDiscard(
        Effect.gen(function* () {
          const shutdown = yield* Shutdown
          yield* Effect.addFinalizer(() =>
            Effect.gen(function* () {
              yield* shutdown.begin
              requests.endKeepAlive()
              yield* until(() => requests.waiting() === 0, grace)
              yield* shutdown.stopWaiting
              yield* until(() => requests.open() === 0, lastResponses)
              // What is left is idle, an event stream, or a caller that does not read. No request may arrive in between.
              server.close()
              server.closeAllConnections()
            })
          )
        })
      )
  }
}

const trackRequests = (server: Server) => {
  const open = new Set<ServerResponse>()
  let isClosing = false
  server.on("request", (_, response) => {
    if (isClosing) response.setHeader("connection", "close")
    open.add(response)
    response.once("close", () => open.delete(response))
  })
  return {
    /** Requests without a response so far. An event stream, which never ends by itself, has begun its response. */
    waiting: () => [...open].filter((response) => !response.headersSent).length,
    /** Requests whose response is not sent completely. */
    open: () => open.size,
    /** From now on each response closes its connection. */
    endKeepAlive: () => {
      isClosing = true
    }
  }
}

const until = (done: () => boolean, limit: Duration.Duration) =>
  Effect.gen(function* () {
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(limit)
    while (!done() && (yield* Clock.currentTimeMillis) < deadline) yield* Effect.sleep("20 millis")
  })
