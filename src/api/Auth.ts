import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, Schema } from "effect"
import type { SessionId } from "../domain/Id.ts"
import { ServiceUnavailable, TooManyRequests, Unauthorized, UnprocessableContent } from "./Problem.ts"
import { cookieName, secureCookieName } from "./Session.ts"

/** The sender of a management request. */
export class Actor extends Context.Tag("webhook-trigger/Actor")<
  Actor,
  { readonly _tag: "AdminKey" } | { readonly _tag: "Session"; readonly id: SessionId }
>() {}

/** Management requests need `Authorization: Bearer <admin key>` or the web UI's session cookie. */
export class Admin extends HttpApiMiddleware.Tag<Admin>()("webhook-trigger/Admin", {
  failure: Schema.Union(Unauthorized, UnprocessableContent, TooManyRequests, ServiceUnavailable),
  provides: Actor,
  security: {
    key: HttpApiSecurity.bearer,
    session: HttpApiSecurity.annotate(
      HttpApiSecurity.apiKey({ key: cookieName, in: "cookie" }),
      OpenApi.Description,
      `The web UI's session. With TLS the cookie's name is \`${secureCookieName}\`.`
    )
  }
}) {}
