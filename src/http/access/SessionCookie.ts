/** The cookie of the web UI's session, and the pages that may use it. */
import { Duration, Effect, Option, Redacted } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { cookieName, secureCookieName } from "../../api/access/Session.ts"
import { isLoopback } from "../../domain/Loopback.ts"
import { ageLimit } from "../../engine/access/Sessions.ts"
import { makeManagementOriginFor } from "../request/PublicUrl.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

interface SessionCookie {
  /** The request's cookie, or an empty text. */
  readonly of: (request: Request) => string
  readonly set: (request: Request, response: Response, token: Redacted.Redacted) => Response
  readonly remove: (request: Request, response: Response) => Response
  /** Whether the browser would not keep the cookie: it needs TLS, and the page has none. */
  readonly isLost: (request: Request) => boolean
  /** Whether the request comes from the server's own pages, and not from another site that uses the cookie. */
  readonly isSameOrigin: (request: Request) => boolean
}

/** `undefined` for `null`, which browsers send for a page without an origin. */
const parseUrl = Option.liftThrowable((text: string) => new URL(text))

/** Browsers keep a cookie that needs TLS for pages of their own machine, too. */

export const make: Effect.Effect<SessionCookie> = Effect.map(makeManagementOriginFor, (originFor) => {
  const isSecure = (request: Request) => originFor(request).startsWith("https:")
  const nameFor = (request: Request) => (isSecure(request) ? secureCookieName : cookieName)

  const write = (request: Request, response: Response, value: string, maxAge: Duration.Duration) =>
    HttpServerResponse.setCookieUnsafe(response, nameFor(request), value, {
      path: "/",
      httpOnly: true,
      sameSite: "strict",
      secure: isSecure(request),
      maxAge
    })

  return {
    of: (request) => request.cookies[nameFor(request)] ?? "",
    // The cookie may outlive the session, whose end the server decides.
    set: (request, response, token) => write(request, response, Redacted.value(token), ageLimit),
    remove: (request, response) => write(request, response, "", Duration.zero),
    isLost: (request) =>
      isSecure(request) &&
      Option.exists(
        parseUrl(request.headers.origin ?? ""),
        ({ hostname, protocol }) => protocol === "http:" && !isLoopback(hostname)
      ),
    // Browsers send `Sec-Fetch-Site` only to secure addresses, and `Origin` with every unsafe request.
    isSameOrigin: (request) => {
      const { headers } = request
      if (headers["sec-fetch-site"] !== undefined) return headers["sec-fetch-site"] === "same-origin"
      const own = Option.map(parseUrl(originFor(request)), ({ origin }) => origin)
      return Option.fromNullishOr(headers.origin).pipe(
        Option.flatMap(parseUrl),
        Option.exists(({ host, origin }) => host === headers.host || Option.contains(own, origin))
      )
    }
  }
})
