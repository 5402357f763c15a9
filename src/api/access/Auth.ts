import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { ApiKey } from "../../domain/access/ApiKey.ts"
import type { Grant } from "../../domain/access/Grant.ts"
import type { Session } from "../../domain/access/Session.ts"
import { bearer } from "../Endpoint.ts"
import { commonFaults, Forbidden, TooManyRequests, Unauthorized, UnprocessableContent } from "../Problem.ts"
import { cookieName, secureCookieName } from "./Session.ts"

/** The sender of a management request: a program with a key, or a session of the web UI. */
export class Actor extends Context.Service<
  Actor,
  {
    readonly session?: Session
    /** The API key, also of the session; absent: the admin key. */
    readonly key?: ApiKey
    readonly grant: Grant
  }
>()("webhook-trigger/Actor") {}

const session = HttpApiSecurity.annotate(
  HttpApiSecurity.apiKey({ key: cookieName, in: "cookie" }),
  OpenApi.Description,
  `The web UI's session. With TLS the cookie's name is \`${secureCookieName}\`.`
)

/** Management requests need `Authorization: Bearer <key>` or the web UI's session cookie. */
export class Admin extends HttpApiMiddleware.Service<Admin, { provides: Actor }>()("webhook-trigger/Admin", {
  error: [Unauthorized, Forbidden, UnprocessableContent, TooManyRequests, ...commonFaults],
  security: { key: bearer, session }
}) {}
