/** Cross-origin requests of pages in a browser (CORS), such as the web UI of the MCP Inspector. */
import { Context, Effect, Layer } from "effect"
import { HttpMiddleware, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { Forbidden } from "../../domain/Errors.ts"
import { makeManagementOriginFor } from "../request/PublicUrl.ts"

type Handler<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** Origins whose pages may call `/mcp`. Default: none but the server's own. */
export class AllowedOrigins extends Context.Reference("webhook-trigger/McpAllowedOrigins", {
  defaultValue: (): ReadonlyArray<string> => []
}) {
  static readonly layer = (origins: ReadonlyArray<string>): Layer.Layer<never> => Layer.succeed(AllowedOrigins, origins)
}

/** Response headers that pages may read, besides those that browsers always expose. */
const exposedHeaders = ["Mcp-Session-Id", "Mcp-Protocol-Version", "WWW-Authenticate", "Retry-After"]

/** In seconds. Chromium caches a preflight response no longer. */
const maxAge = 7_200

/** Browsers send these requests without cookies, so a page needs its own key or access token. */
export const make = Effect.map(Effect.all([AllowedOrigins, makeManagementOriginFor]), ([origins, originFor]) => {
  const isOwn = (request: HttpServerRequest.HttpServerRequest, origin: string) =>
    URL.canParse(origin) &&
    (new URL(origin).host === request.headers.host || origin === new URL(originFor(request)).origin)
  const isAllowed = (origin: string | undefined) => origin !== undefined && origins.includes(origin)
  const allow = HttpMiddleware.cors({
    ...{ allowedOrigins: isAllowed, exposedHeaders, maxAge, credentials: false },
    allowedMethods: ["GET", "POST", "DELETE"]
  })
  return {
    isUsed: origins.length > 0,
    /**
     * Fails for a page of another origin, as the protocol demands (Model Context Protocol, Streamable HTTP, Security). Programs
     * send no `Origin`.
     */
    check: (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, Forbidden> => {
      const { origin } = request.headers
      return origin === undefined || isAllowed(origin) || isOwn(request, origin) ? Effect.void : foreign
    },
    /** For a handler of a route that pages of allowed origins may call. */
    allow: <E, R>(handler: Handler<E, R>): Handler<E, R | HttpServerRequest.HttpServerRequest> =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
        isAllowed(headers.origin) ? allow(handler) : handler
      )
  }
})

const foreign = new Forbidden({
  detail: "Pages of this origin may not use this address. The setting `MCP_ALLOWED_ORIGINS` names those that may."
})
