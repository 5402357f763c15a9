import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { BadRequest, OutOfReach, TooLarge, TooMany, Unauthenticated, Unprocessable, WrongMediaType } from "./Problem.ts"

/** The cookie of the web UI's session: `HttpOnly`, `SameSite=Strict`, and `Secure` behind TLS. */
export const cookieName = "webhook_trigger_session"

export const SessionState = Schema.Struct({
  signed_in: Schema.Boolean,
  /** When the cookie stops counting; it is renewed while the UI is in use. */
  expires_at: Schema.optionalWith(Schema.Date, { exact: true })
}).annotations({ identifier: "SessionState" })
export type SessionState = typeof SessionState.Type

/** Signing in and out of the web UI. Programs need none of this: they send the admin key with every request. */
export class Session extends HttpApiGroup.make("session")
  .add(HttpApiEndpoint.get("show", "/api/session").addSuccess(SessionState))
  .add(
    HttpApiEndpoint.post("signIn", "/api/session")
      .setPayload(Schema.Struct({ key: Schema.String }))
      .addSuccess(SessionState)
      .addError(BadRequest)
      .addError(Unauthenticated)
      .addError(TooLarge)
      .addError(WrongMediaType)
      .addError(Unprocessable)
      .addError(TooMany)
  )
  .add(HttpApiEndpoint.del("signOut", "/api/session").addSuccess(HttpApiSchema.NoContent).addError(Unauthenticated))
  .addError(OutOfReach) {}
