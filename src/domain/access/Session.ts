import { Schema } from "effect"
import { ApiKeyId, SessionId } from "../Id.ts"
import { optional, time } from "../Time.ts"
import type { TokenHash } from "../webhook/Token.ts"
import { PersonWithGrant } from "./Person.ts"

/** A browser that is signed in to the web UI, or an access token that is used for `/mcp`, as people see it. */
export const Session = Schema.Struct({
  id: SessionId,
  created_at: time("When somebody signed in."),
  last_used_at: time("When it was last used, to within five minutes."),
  authenticated_at: optional(
    time("When somebody last entered the key or signed in at the provider. Absent: the provider did not say.")
  ),
  expires_at: time("When it ends unless it is used before; never more than seven days after signing in."),
  person: optional(
    PersonWithGrant.annotate({ description: "Who signed in at the OpenID provider. Absent: somebody with a key." })
  ),
  api_key_id: optional(
    ApiKeyId.annotate({ description: "The API key used to sign in. Absent, without a `person`: the admin key." })
  ),
  key_name: optional(Schema.String.annotate({ description: "That key's name." })),
  oauth_client: optional(
    Schema.String.annotate({
      description:
        "The ID of the OAuth client, such as an AI assistant, that uses the person's access token for `/mcp`. Absent: a browser."
    })
  ),
  client_address: Schema.String.annotate({ description: "The address that somebody signed in from." }),
  user_agent: Schema.String.annotate({ description: "What the browser said of itself; may be empty." })
})
export type Session = typeof Session.Type

/** A session as stored. */
export interface SessionRow extends Session {
  /** The hash of the secret in the browser's cookie, or of the signed part of the access token. */
  readonly token_hash: TokenHash
  /**
   * Without an API key: the fingerprint of the admin key or, of a person, of the provider's settings. With another one, the
   * session is void.
   */
  readonly key_fingerprint?: Uint8Array
  /** A person's ID token from the provider, if it is needed to sign out. Encrypted with the session's secret. */
  readonly sealed_id_token?: string
  /** Set on an access token's session that was ended: the token is refused until it expires. */
  readonly is_ended?: true
}
