import { createHash, scrypt, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import { AdminKeyStore } from "../../repo/access/AdminKeyStore.ts"
import { makeSecret } from "../verify/Secret.ts"

/** The secret that opens the management operations. */
export class AdminKey extends Context.Service<
  AdminKey,
  {
    /** Whether this is the key. Takes the same time for any text. */
    readonly verify: (candidate: Redacted.Redacted) => boolean
    /**
     * Distinguishes sessions of this key from those of another. It is stored, and a person may have chosen the key, so
     * trying keys against it is slow (RFC 7914). Computed once, when first needed.
     */
    readonly fingerprint: Effect.Effect<Uint8Array>
    /**
     * The last act of a successful start: calls `show` once, with a new key if none was given or stored. The key's hash is
     * stored only if `show` succeeds, so a key that nobody has seen is never in force. If several servers start at once, the
     * one that stores its key shows it, and `show` gets none in the others.
     */
    readonly claim: <E>(
      show: (made: Option.Option<Redacted.Redacted>) => Effect.Effect<void, E>
    ) => Effect.Effect<void, E | Unavailable>
  }
>()("webhook-trigger/AdminKey") {
  /** The operator's key. It is not stored. */
  static readonly layerGiven = (key: Redacted.Redacted): Layer.Layer<AdminKey> =>
    Layer.effect(
      AdminKey,
      Effect.map(make(hash(key)), (current) => ({ ...current, claim: (show) => show(Option.none()) }))
    )

  /** Generated on the first start, by `claim`. Only its hash is stored. */
  static readonly layerGenerated: Layer.Layer<AdminKey, Unavailable, AdminKeyStore> = Layer.effect(
    AdminKey,
    Effect.gen(function* () {
      const store = yield* AdminKeyStore
      const known = yield* store.adminKeyHash
      const made = Redacted.make(makeSecret("wha_"))
      // Until it is shown, nobody has the new one.
      let current = yield* make(Option.getOrElse(known, () => hash(made)))
      return AdminKey.of({
        verify: (candidate) => current.verify(candidate),
        fingerprint: Effect.suspend(() => current.fingerprint),
        claim: (show) =>
          Effect.gen(function* () {
            if (Option.isSome(known)) return yield* show(Option.none())
            current = yield* make(yield* store.claimAdminKeyHash(hash(made), show(Option.some(made))))
            if (!current.verify(made)) yield* show(Option.none())
          })
      })
    })
  )
}

const hash = (key: Redacted.Redacted): Uint8Array => createHash("sha256").update(Redacted.value(key)).digest()

/** A key by its hash. */
const make = (expected: Uint8Array) =>
  Effect.map(Effect.cached(fingerprintOf(expected)), (fingerprint) => ({
    verify: (candidate: Redacted.Redacted) => timingSafeEqual(hash(candidate), expected),
    fingerprint
  }))

/** The salt is the same everywhere, as all servers with this key must agree. */
const fingerprintOf = (hash: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.callback((resume) =>
    scrypt(hash, "webhook-trigger admin key", 32, (error, key) =>
      resume(error === null ? Effect.succeed(key) : Effect.die(error))
    )
  )
