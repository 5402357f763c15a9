import { Schema } from "effect"
import { ApiKeyId, SessionId } from "../Id.ts"
import { optional, time } from "../Time.ts"
import type { TokenHash } from "../webhook/Token.ts"

/** A browser that is signed in to the web UI, as people see it. */
export const Session = Schema.Struct({
  id: SessionId,
  created_at: time("When somebody signed in."),
  last_used_at: time("When it was last used, to within five minutes."),
  expires_at: time("When it ends unless it is used before; never more than seven days after signing in."),
  api_key_id: optional(ApiKeyId.annotations({ description: "The API key used to sign in. Absent: the admin key." })),
  key_name: optional(Schema.String.annotations({ description: "That key's name." })),
  client_address: Schema.String.annotations({ description: "The address that somebody signed in from." }),
  user_agent: Schema.String.annotations({ description: "What the browser said of itself; may be empty." })
})
export type Session = typeof Session.Type

/** A session as stored. */
export interface SessionRow extends Session {
  /** The hash of the secret in the browser's cookie. */
  readonly token_hash: TokenHash
  /** The fingerprint of the admin key, if that was used to sign in. With another key, the session is void. */
  readonly key_fingerprint?: Uint8Array
}
