import { createServer, type Server, type ServerResponse } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Data, Duration, Effect, Layer } from "effect"
import { Shutdown } from "../engine/Shutdown.ts"

/** The address cannot be listened on. */
export class CannotListen extends Data.TaggedError("CannotListen")<{
  readonly host: string
  readonly port: number
  /** As Node names it, for example `EADDRINUSE`. */
  readonly code: string
}> {}

/** Once `stopWaiting` has answered the last callers, this is how long their answers may take to go out. */
const lastAnswers = Duration.seconds(2)

/**
 * Connections that wait to be taken. Node asks for 511, and a busy server's thousand callers at once are then reset; the
 * system has its own limit (Linux: `net.core.somaxconn`, 4,096).
 */
const backlog = 4096

export interface Listener {
  readonly layer: Layer.Layer<Layer.Layer.Success<ReturnType<typeof NodeHttpServer.layer>>, CannotListen>
  /**
   * Stops in good order: first nothing new is accepted while callers that wait still get their answers, for up to
   * `grace`; then the rest are told to come back; then the sockets are closed. Build it last, so that it closes first.
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
              requests.sayGoodbye()
              yield* until(() => requests.waiting() === 0, grace)
              yield* shutdown.stopWaiting
              yield* until(() => requests.open() === 0, lastAnswers)
              // What is left is idle, an event stream, or a caller who does not read. Nothing new may come in between.
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
  let leaving = false
  server.on("request", (_, response) => {
    if (leaving) response.setHeader("connection", "close")
    open.add(response)
    response.once("close", () => open.delete(response))
  })
  return {
    /** No answer has begun. An event stream, which never ends by itself, has. */
    waiting: () => [...open].filter((response) => !response.headersSent).length,
    /** Some of its answer is still to go out. */
    open: () => open.size,
    sayGoodbye: () => {
      leaving = true
    }
  }
}

const until = (done: () => boolean, limit: Duration.Duration) =>
  Effect.gen(function* () {
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(limit)
    while (!done() && (yield* Clock.currentTimeMillis) < deadline) yield* Effect.sleep("20 millis")
  })
