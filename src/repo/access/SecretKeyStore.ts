import { Context, type Effect, type Option } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"

/** The fingerprint of the key that encrypts webhooks' secrets, the same for all servers of this database. */
export class SecretKeyStore extends Context.Service<
  SecretKeyStore,
  {
    readonly secretKeyFingerprint: Effect.Effect<Option.Option<Uint8Array>, Unavailable>
    /** Sets the fingerprint if it is still `from`, or if there is none. Returns the one stored afterwards. */
    readonly setSecretKeyFingerprint: (
      to: Uint8Array,
      from: Option.Option<Uint8Array>
    ) => Effect.Effect<Uint8Array, Unavailable>
  }
>()("webhook-trigger/SecretKeyStore") {}
