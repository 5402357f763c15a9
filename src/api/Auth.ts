import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, Schema } from "effect"
import type { SessionId } from "../domain/Id.ts"
import { ServiceUnavailable, TooManyRequests, Unauthorized } from "./Problem.ts"
import { cookieName, secureCookieName } from "./Session.ts"

/** Who sends a management request: someone with the admin key, or a session of the web UI. */
export class Actor extends Context.Tag("webhook-trigger/Actor")<
  Actor,
  { readonly _tag: "AdminKey" } | { readonly _tag: "Session"; readonly id: SessionId }
>() {}

/** Management requests carry `Authorization: Bearer <admin key>`, or the session cookie of the web UI. */
export class Admin extends HttpApiMiddleware.Tag<Admin>()("webhook-trigger/Admin", {
  failure: Schema.Union(Unauthorized, TooManyRequests, ServiceUnavailable),
  provides: Actor,
  security: {
    key: HttpApiSecurity.bearer,
    session: HttpApiSecurity.annotate(
      HttpApiSecurity.apiKey({ key: cookieName, in: "cookie" }),
      OpenApi.Description,
      `The session of the web UI; behind TLS the cookie is called \`${secureCookieName}\`.`
    )
  }
}) {}
