import { Context, type Effect, type Option } from "effect"
import type { Unavailable } from "../domain/Errors.ts"

/** The generated admin key, as its SHA-256. */
export class AdminKeyStore extends Context.Tag("webhook-trigger/AdminKeyStore")<
  AdminKeyStore,
  {
    readonly adminKeyHash: Effect.Effect<Option.Option<Uint8Array>, Unavailable>
    /** The first caller's hash is kept, and returned to all. */
    readonly claimAdminKeyHash: (hash: Uint8Array) => Effect.Effect<Uint8Array, Unavailable>
  }
>() {}
