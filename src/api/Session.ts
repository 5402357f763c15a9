import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { optional, time } from "../domain/Time.ts"
import {
  BadRequest,
  ContentTooLarge,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  UnprocessableContent,
  UnsupportedMediaType
} from "./Problem.ts"

/** The cookie of the web UI's session: `HttpOnly`, `SameSite=Strict`. */
export const cookieName = "webhook_trigger_session"
/** Its name behind TLS, by which a browser sends it over TLS only and takes it from this very host only (RFC 6265bis). */
export const secureCookieName = `__Host-${cookieName}`

export const SessionState = Schema.Struct({
  signed_in: Schema.Boolean,
  expires_at: optional(time("When the session ends unless it is used before."))
}).annotations({ identifier: "SessionState" })
export type SessionState = typeof SessionState.Type

export const SignIn = Schema.Struct({ key: Schema.String })

/**
 * Signing in and out of the web UI; not in OpenAPI. Programs need none of this: they send the admin key with every
 * request.
 */
export class Session extends HttpApiGroup.make("session")
  .add(HttpApiEndpoint.get("show", "/api/session").addSuccess(SessionState))
  .add(
    HttpApiEndpoint.post("signIn", "/api/session")
      .setPayload(SignIn)
      .addSuccess(SessionState)
      .addError(BadRequest)
      .addError(Unauthorized)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .addError(TooManyRequests)
  )
  .add(HttpApiEndpoint.del("signOut", "/api/session").addSuccess(HttpApiSchema.NoContent).addError(Unauthorized))
  .addError(ServiceUnavailable)
  .annotate(OpenApi.Exclude, true) {}
