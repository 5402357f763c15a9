import { createServer, type Server } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Data, Effect, Layer, Option } from "effect"
import { HttpServer } from "effect/http"

export interface ListenFault {
  readonly host: string
  readonly port: number
  /** Node's code, for example `EADDRINUSE`. */
  readonly code: string
}

/** The server cannot listen on the address. */
export class CannotListen extends Data.TaggedError("CannotListen")<ListenFault> {}

/**
 * Connections that wait to be accepted. With Node's default, 511, a thousand callers at the same moment were reset; the
 * operating system has its own limit (Linux: `net.core.somaxconn`, 4,096).
 */
const backlog = 4096

/**
 * How long an idle connection is kept, in milliseconds: longer than the 60 s of the usual proxies, so that none of them sends
 * a request on a connection that is just being closed. Node's default is 5 s.
 */
export const keepAliveTimeout = 65_000

/** How long a request's headers may take to arrive, in milliseconds. */
const headersTimeout = 10_000

/** The same for the whole request: with all the files that it may have, on a line of 1.5 Mbit/s. */
const requestTimeout = 300_000

/** How often these times are checked, in milliseconds. */
const connectionsCheckingInterval = 1_000

/** A port above this one that nothing else uses now; 0, which stands for any, if none is found soon. */
export const freePort = ({ host, port }: { readonly host: string; readonly port: number }): Effect.Effect<number> => {
  const isFree = (candidate: number) =>
    Effect.callback<boolean>((resume) => {
      const server = createServer()
      server.once("error", () => resume(Effect.succeed(false)))
      server.listen(candidate, host, () => server.close(() => resume(Effect.succeed(true))))
    })
  const candidates = Array.from({ length: Math.min(100, 65_535 - port) }, (_, n) => port + 1 + n)
  return Effect.map(Effect.findFirst(candidates, isFree), (found) => Option.getOrElse(found, () => 0))
}

interface Listener {
  readonly layer: Layer.Layer<HttpServer.HttpServer, CannotListen>
  readonly server: Server
}

/** The port that the server listens on, even if it was asked for any free one. */
export const port = HttpServer.HttpServer.use(({ address }) =>
  address._tag === "UnixPathAddress" ? Effect.die(new Error("It listens on no port")) : Effect.succeed(address.port)
)

/**
 * An HTTP server that listens once its layer is built: after its routes, since a request without a route would never be
 * answered.
 */
export const make = ({ host, port }: { readonly host?: string; readonly port: number }): Listener => {
  const server = createServer({
    keepAliveTimeout,
    headersTimeout,
    requestTimeout,
    connectionsCheckingInterval,
    noDelay: true
  })
  return {
    server,
    layer: Layer.effect(
      HttpServer.HttpServer,
      Effect.mapError(
        NodeHttpServer.make(() => server, { ...(host !== undefined && { host }), port, backlog }),
        ({ cause }) =>
          new CannotListen({
            host: host ?? "any address",
            port,
            code: String((cause as NodeJS.ErrnoException | undefined)?.code ?? cause)
          })
      )
    )
  }
}
