import { Context, type Effect, type Option } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"

/** The SHA-256 of the generated admin key. */
export class AdminKeyStore extends Context.Tag("webhook-trigger/AdminKeyStore")<
  AdminKeyStore,
  {
    readonly adminKeyHash: Effect.Effect<Option.Option<Uint8Array>, Unavailable>
    /** Stores the first caller's hash, and returns it to all. */
    readonly claimAdminKeyHash: (hash: Uint8Array) => Effect.Effect<Uint8Array, Unavailable>
  }
>() {}
