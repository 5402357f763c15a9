import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { optional, time } from "../../domain/Time.ts"
import {
  BadRequest,
  ContentTooLarge,
  commonFaults,
  Forbidden,
  TooManyRequests,
  Unauthorized,
  UnprocessableContent,
  UnsupportedMediaType
} from "../Problem.ts"
import { Access } from "./Access.ts"

/** The web UI's session cookie: `HttpOnly`, `SameSite=Strict`. */
export const cookieName = "webhook_trigger_session"
/** The cookie's name with TLS. Browsers accept `__Host-` cookies only over TLS and only from this host (RFC 6265bis). */
export const secureCookieName = `__Host-${cookieName}`

export const SessionState = Schema.Struct({
  signed_in: Schema.Boolean,
  expires_at: optional(time("When the session ends unless it is used earlier.")),
  access: optional(Access),
  recent: optional(
    Schema.Boolean.annotate({ description: "Whether the sign-in is recent enough for sensitive actions." })
  ),
  provider: optional(
    Schema.String.annotate({ description: "The OpenID provider's name, if people can sign in there." })
  )
}).annotate({ identifier: "SessionState" })
export type SessionState = typeof SessionState.Type

export const SignIn = Schema.Struct({ key: Schema.String })

/** After signing out here: the address that signs the person out at the provider, too. */
export const SignedOut = Schema.Struct({ provider_url: Schema.String })

/** Signing in to the web UI; not in OpenAPI. Programs send the admin key with every request instead. */
export class Session extends HttpApiGroup.make("session")
  .add(HttpApiEndpoint.get("show", "/api/session", { success: SessionState, error: commonFaults }))
  .add(
    HttpApiEndpoint.post("signIn", "/api/session", {
      payload: SignIn,
      success: SessionState,
      error: [
        BadRequest,
        Unauthorized,
        Forbidden,
        ContentTooLarge,
        UnsupportedMediaType,
        UnprocessableContent,
        TooManyRequests,
        ...commonFaults
      ]
    })
  )
  .add(
    HttpApiEndpoint.delete("signOut", "/api/session", {
      success: [HttpApiSchema.NoContent, SignedOut],
      error: [Unauthorized, ...commonFaults]
    })
  )
  .annotate(OpenApi.Exclude, true) {}
