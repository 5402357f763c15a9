import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Unauthorized } from "./Problem.ts"
import { cookieName, secureCookieName } from "./Session.ts"

/** Management requests carry `Authorization: Bearer <admin key>`, or the session cookie of the web UI. */
export class Admin extends HttpApiMiddleware.Tag<Admin>()("webhook-trigger/Admin", {
  failure: Unauthorized,
  security: {
    key: HttpApiSecurity.bearer,
    session: HttpApiSecurity.annotate(
      HttpApiSecurity.apiKey({ key: cookieName, in: "cookie" }),
      OpenApi.Description,
      `The session of the web UI; behind TLS the cookie is called \`${secureCookieName}\`.`
    )
  }
}) {}
