import { Context, type Effect, type Option } from "effect"
import type { Unavailable } from "../domain/Errors.ts"

/** Which key encrypts webhooks' secrets, as its fingerprint: the same for all servers of this database. */
export class SecretKeyStore extends Context.Tag("webhook-trigger/SecretKeyStore")<
  SecretKeyStore,
  {
    readonly secretKeyFingerprint: Effect.Effect<Option.Option<Uint8Array>, Unavailable>
    /** Sets it if it still is `from`, or if there is none; gives the one that is there afterwards. */
    readonly setSecretKeyFingerprint: (
      to: Uint8Array,
      from: Option.Option<Uint8Array>
    ) => Effect.Effect<Uint8Array, Unavailable>
  }
>() {}
