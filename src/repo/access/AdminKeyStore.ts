import { Context, type Effect, type Option } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"

/** The SHA-256 of the generated admin key. */
export class AdminKeyStore extends Context.Service<
  AdminKeyStore,
  {
    readonly adminKeyHash: Effect.Effect<Option.Option<Uint8Array>, Unavailable>
    /**
     * Stores the first caller's hash, and returns it to all. `show` runs for the caller whose hash is stored, and only if it
     * succeeds is the hash committed. Other callers wait for that.
     */
    readonly claimAdminKeyHash: <E>(
      hash: Uint8Array,
      show: Effect.Effect<void, E>
    ) => Effect.Effect<Uint8Array, E | Unavailable>
  }
>()("webhook-trigger/AdminKeyStore") {}
