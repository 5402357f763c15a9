import { createHash, scrypt, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import { AdminKeyStore } from "../../repo/access/AdminKeyStore.ts"
import { makeSecret } from "../verify/Secret.ts"

/** The secret that opens the management operations. */
export class AdminKey extends Context.Tag("webhook-trigger/AdminKey")<
  AdminKey,
  {
    /** Whether this is the key. Takes the same time for any text. */
    readonly verify: (candidate: Redacted.Redacted) => boolean
    /**
     * Distinguishes sessions of this key from those of another. It is stored, and a person may have chosen the key, so
     * trying keys against it is slow (RFC 7914). Computed once, when first needed.
     */
    readonly fingerprint: Effect.Effect<Uint8Array>
    /** The key that this start generated, to be shown once; none if it was given or generated before. */
    readonly generated: Option.Option<Redacted.Redacted>
  }
>() {
  /** The operator's key. It is not stored. */
  static readonly layerGiven = (key: Redacted.Redacted): Layer.Layer<AdminKey> =>
    Layer.effect(AdminKey, make(hash(key)))

  /** Generated on the first start. Only its hash is stored. If several servers start at once, one generates it. */
  static readonly layerGenerated: Layer.Layer<AdminKey, Unavailable, AdminKeyStore> = Layer.effect(
    AdminKey,
    Effect.gen(function* () {
      const store = yield* AdminKeyStore
      const known = yield* store.adminKeyHash
      if (Option.isSome(known)) return yield* make(known.value)
      const made = Redacted.make(makeSecret("wha_"))
      const adminKey = yield* make(yield* store.claimAdminKeyHash(hash(made)))
      return { ...adminKey, generated: Option.liftPredicate(made, adminKey.verify) }
    })
  )
}

const hash = (key: Redacted.Redacted): Uint8Array => createHash("sha256").update(Redacted.value(key)).digest()

/** A key by its hash. */
const make = (expected: Uint8Array) =>
  Effect.map(Effect.cached(Effect.uninterruptible(fingerprintOf(expected))), (fingerprint) => ({
    verify: (candidate: Redacted.Redacted) => timingSafeEqual(hash(candidate), expected),
    fingerprint,
    generated: Option.none<Redacted.Redacted>()
  }))

/** The salt is the same everywhere, as all servers with this key must agree. */
const fingerprintOf = (hash: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.async((resume) =>
    scrypt(hash, "webhook-trigger admin key", 32, (error, key) =>
      resume(error === null ? Effect.succeed(key) : Effect.die(error))
    )
  )
