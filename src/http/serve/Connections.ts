/** How a Node server handles too many callers. */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Effect, Layer } from "effect"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import type { ConnectionLimits } from "./ConnectionLimits.ts"
import * as LimitedConnections from "./LimitedConnections.ts"

/** Requests that expect 100 (Continue) are another event of Node's, which Effect's server handles, too. */
const requestEvents = ["request", "checkContinue"] as const

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Calls the listener with each request, those of callers that wait for 100 (Continue) included. */
export const onRequest = (server: Server, listener: Listener): void => {
  for (const event of requestEvents) server.on(event, listener)
}

/** Until the scope closes. */
export const onRequestWithin = (server: Server, listener: Listener) =>
  Effect.acquireRelease(
    Effect.sync(() => onRequest(server, listener)),
    () => Effect.sync(() => requestEvents.forEach((event) => server.off(event, listener)))
  )

/** Until the scope closes, limits connections. All headers count. `answersAll`: the routes are served behind `refuse`. */
export const layer = (
  server: Server,
  { answersAll = false, limits }: { readonly answersAll?: boolean; readonly limits: ConnectionLimits }
): Layer.Layer<never> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { begin, open } = LimitedConnections.make(limits, yield* TrustedProxies, answersAll)
      // Node ignores those after the first 2,000; their size is limited in any case (16 KiB).
      server.maxHeadersCount = 0
      yield* Effect.acquireRelease(
        Effect.sync(() => server.on("connection", open)),
        () => Effect.sync(() => server.off("connection", open))
      )
      yield* onRequestWithin(server, begin)
    })
  )
