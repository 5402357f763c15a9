import { HttpApiMiddleware, HttpApiSecurity } from "@effect/platform"
import { Unauthenticated } from "./Problem.ts"

/** The management operations take `Authorization: Bearer <admin key>`, or the session cookie of the web UI. */
export class Admin extends HttpApiMiddleware.Tag<Admin>()("webhook-trigger/Admin", {
  failure: Unauthenticated,
  security: {
    key: HttpApiSecurity.bearer,
    session: HttpApiSecurity.apiKey({ key: "webhook_trigger_session", in: "cookie" })
  }
}) {}
