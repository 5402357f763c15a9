/**
 * The cookie of a sign-in at the OpenID provider, while it lasts. The browser keeps it, so any server can finish what another
 * one began. It is `SameSite=Lax`: it must come back with the provider's redirect. It is neither sealed nor signed: see
 * docs/internals/decisions/0035-access.md.
 */
import { Duration, Effect, type Option, Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { makeManagementOriginFor } from "../request/PublicUrl.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

const name = "webhook_trigger_sign_in"

/** Signing in may take this long. */
const age = Duration.minutes(10)

const random = Schema.String.pipe(Schema.check(Schema.isPattern(/^[\w-]{43}$/)))

/** The data that is needed when the provider redirects back. */
const Pending = Schema.Struct({
  state: random,
  nonce: random,
  verifier: random,
  fresh: Schema.Boolean,
  /** The page to return to. */
  to: Schema.String,
  /** The hash of the token of the session that is replaced, in base64url. */
  replaces: Schema.optionalKey(random)
})
export type Pending = typeof Pending.Type

const decode = Schema.decodeOption(Schema.fromJsonString(Pending))

export const make = Effect.map(makeManagementOriginFor, (originFor) => {
  const isSecure = (request: Request) => originFor(request).startsWith("https:")
  const nameFor = (request: Request) => (isSecure(request) ? `__Host-${name}` : name)
  const write = (request: Request, response: Response, value: string, maxAge: Duration.Duration) =>
    HttpServerResponse.setCookieUnsafe(response, nameFor(request), value, {
      path: "/",
      httpOnly: true,
      sameSite: "lax",
      secure: isSecure(request),
      maxAge
    })
  return {
    of: (request: Request): Option.Option<Pending> =>
      decode(Buffer.from(request.cookies[nameFor(request)] ?? "", "base64url").toString()),
    set: (request: Request, response: Response, pending: Pending) =>
      write(request, response, Buffer.from(JSON.stringify(pending)).toString("base64url"), age),
    remove: (request: Request, response: Response) => write(request, response, "", Duration.zero)
  }
})
