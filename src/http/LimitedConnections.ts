/** The connections of a Node server under the limits of its process. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { networkOf, plain } from "./ClientAddress.ts"
import type { Connection, ConnectionLimits } from "./ConnectionLimits.ts"
import { keepAliveTimeout } from "./Listener.ts"
import * as Problems from "./Problems.ts"
import type { Networks } from "./TrustedProxies.ts"

/**
 * How long an idle connection is kept that has shown neither a valid token nor a key, in milliseconds. Those that have, and
 * those of trusted proxies, are kept for the server's `keepAliveTimeout`.
 */
const strangersKeepAlive = 5_000

/** Callers for whom there is no room, and who are told so, at the same time. */
const mostRefused = 20

interface Caller {
  /** None: there is no room for it. */
  readonly connection: Connection | undefined
  /** The latest. */
  response?: ServerResponse
}

const callers = new WeakMap<Socket, Caller>()

/** A response announces how long its connection is kept; Node has no other way to say that of a single connection. */
const announceKeepAlive = (response: ServerResponse, timeout: number): void => {
  ;(response as { _keepAliveTimeout?: number })._keepAliveTimeout = timeout
}

/** The request has shown a valid token, key or session: from now on its connection does not make way for others. */
export const showedCredentials = ({ socket }: IncomingMessage): void => {
  const caller = callers.get(socket)
  if (caller?.connection === undefined || caller.connection.hasCredentials) return
  caller.connection.showCredentials()
  if (caller.response !== undefined) announceKeepAlive(caller.response, keepAliveTimeout)
}

const noRoom = JSON.stringify(
  Problems.problem(503, {
    code: "unavailable",
    detail: "The server has as many connections as it can have; try again in a moment."
  })
)

/** Answers a request for whose connection there is no room, unless it is a health check. */
export const refuse = ({ socket, url = "" }: IncomingMessage, response: ServerResponse): boolean => {
  const caller = callers.get(socket)
  if (caller === undefined || caller.connection !== undefined) return false
  response.setHeader("connection", "close")
  if (url.startsWith("/health/")) return false
  response.writeHead(503, { "content-type": "application/problem+json", "retry-after": "1" }).end(noRoom)
  return true
}

/**
 * Listeners for a server's connections and requests. `answersAll`: its routes are served behind `refuse`; else a connection
 * for which there is no room is closed.
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
    if (connection === undefined || connection.hasCredentials) return
    caller!.response = response
    announceKeepAlive(response, strangersKeepAlive)
    connection.begin()
    // After Node's own listener, which sets the server's time.
    response.once("finish", () => {
      if (!connection.hasCredentials) socket.setTimeout(strangersKeepAlive)
    })
    response.once("close", () => connection.end())
  }

  return { open, begin }
}
