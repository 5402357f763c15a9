import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Clock, Duration, Effect, Layer } from "effect"
import { Shutdown } from "../../engine/Shutdown.ts"
import { onRequest } from "./Connections.ts"

/** How long the last callers' responses may take to be sent once `stopWaiting` has ended their wait. */
const lastResponses = Duration.seconds(2)

const repeated = new WeakSet<IncomingMessage>()

/** A stop does not wait for this request: its client sends it again, also to another server. */
export const markRepeated = (request: IncomingMessage): void => {
  repeated.add(request)
}

/**
 * Stops a process's servers in order when its scope closes. First nothing new is accepted, while waiting callers still
 * get their answers, for up to `grace`. Then the rest get 503 and `Retry-After`, and the sockets are closed. Build it
 * last, so that it closes first. It counts requests from this call on, so call it before they listen.
 */
export const layer = (servers: ReadonlyArray<Server>, grace: Duration.Input): Layer.Layer<never, never, Shutdown> => {
  const requests = trackRequests(servers)
  return Layer.effectDiscard(
    Effect.gen(function* () {
      const shutdown = yield* Shutdown
      yield* Effect.addFinalizer(() =>
        Effect.gen(function* () {
          yield* shutdown.begin
          requests.endKeepAlive()
          const waiting = requests.waiting()
          if (waiting > 0) {
            const limit = Duration.format(Duration.fromInputUnsafe(grace))
            yield* Effect.logInfo(
              `Stopping: up to ${limit} for ${waiting} ${waiting === 1 ? "request" : "requests"} to be answered. A second signal ends the server at once`
            )
          }
          yield* until(() => requests.waiting() === 0, Duration.fromInputUnsafe(grace))
          yield* shutdown.stopWaiting
          yield* until(() => requests.open() === 0, lastResponses)
          // The remaining connections are idle, an event stream, or have a caller that does not read. No request may
          // arrive in between.
          for (const server of servers) {
            server.close()
            server.closeAllConnections()
          }
        })
      )
    })
  )
}

const trackRequests = (servers: ReadonlyArray<Server>) => {
  const open = new Map<ServerResponse, IncomingMessage>()
  let isClosing = false
  for (const server of servers) {
    onRequest(server, (request, response) => {
      if (isClosing) response.setHeader("connection", "close")
      open.set(response, request)
      response.once("close", () => open.delete(response))
    })
  }
  return {
    /**
     * Requests without a response so far, except the repeated ones. An event stream, which never ends by itself, has begun
     * its response.
     */
    waiting: () => [...open].filter(([response, request]) => !response.headersSent && !repeated.has(request)).length,
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
