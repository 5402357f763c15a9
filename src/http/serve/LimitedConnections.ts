/** The connections of a Node server under the limits of its process. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Networks } from "../../runtime/Networks.ts"
import { nodeRequest } from "../request/Body.ts"
import { networkOf, plain } from "../request/ClientAddress.ts"
import * as Problems from "../request/Problems.ts"
import type { Connection, ConnectionLimits } from "./ConnectionLimits.ts"
import { keepAliveTimeout } from "./Listener.ts"

/**
 * How long an idle connection without credentials is kept, in milliseconds. Connections that have shown a valid token or
 * key, and those of trusted proxies, are kept for the server's `keepAliveTimeout`.
 */
const strangersKeepAlive = 5_000

/** How many callers beyond the limit get an answer at the same time. */
const mostRefused = 20

interface Caller {
  /** Undefined if there is no room for it. */
  readonly connection: Connection | undefined
  /** The latest response. */
  response?: ServerResponse
}

const callers = new WeakMap<Socket, Caller>()

/** A response announces how long its connection is kept; Node has no other way to announce that for a single connection. */
const announceKeepAlive = (response: ServerResponse, timeout: number): void => {
  ;(response as { _keepAliveTimeout?: number })._keepAliveTimeout = timeout
}

/** The request has a valid token, key or session: from now on, other connections are closed before this one. */
export const showedCredentials = ({ socket }: IncomingMessage): void => {
  const caller = callers.get(socket)
  if (caller?.connection === undefined || caller.connection.hasCredentials) return
  caller.connection.showCredentials()
  if (caller.response !== undefined) announceKeepAlive(caller.response, keepAliveTimeout)
}

const noRoom = HttpServerResponse.setHeader(
  Problems.toResponse(
    Problems.problem(503, {
      code: "unavailable",
      detail: "The server has too many connections. Try again in a moment."
    })
  ),
  "retry-after",
  "1"
)

/** Answers requests whose connection exceeds the limit, except health checks. */
export const refuse = <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const source = nodeRequest(request)
    const caller = source && callers.get(source.socket)
    if (caller === undefined || caller.connection !== undefined) return app
    const answer = request.url.startsWith("/health/") ? app : Effect.succeed(noRoom)
    return Effect.map(answer, HttpServerResponse.setHeader("connection", "close"))
  })

/**
 * Listeners for a server's connections and requests. `answersAll`: the routes are served behind `refuse`. Otherwise a
 * connection beyond the limit is closed.
 */
export const make = (limits: ConnectionLimits, proxies: Networks, answersAll: boolean) => {
  const refused = new Set<Socket>()

  const open = (socket: Socket): void => {
    const address = plain(socket.remoteAddress ?? "")
    const network = proxies.contains(address) ? undefined : networkOf(address)
    const connection = limits.open(network, () => socket.destroy())
    callers.set(socket, { connection })
    if (connection !== undefined) {
      socket.once("close", () => connection.closed())
      return
    }
    refused.add(socket.once("close", () => refused.delete(socket)))
    const [oldest] = refused
    if (refused.size > (answersAll ? mostRefused : 0)) oldest!.destroy()
  }

  const begin = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const caller = callers.get(socket)
    const connection = caller?.connection
    if (connection === undefined) return
    connection.begin()
    if (!connection.hasCredentials) {
      caller!.response = response
      announceKeepAlive(response, strangersKeepAlive)
    }
    // After Node's own listener of `finish`, which sets the server's timeout. Pipelined requests may still be open.
    response.once("close", () => {
      connection.end()
      if (connection.isIdle && !connection.hasCredentials) socket.setTimeout(strangersKeepAlive)
    })
  }

  return { open, begin }
}
