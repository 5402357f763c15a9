import { createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import { AdminKeyStore } from "../repo/AdminKeyStore.ts"

/** The secret that opens the management operations. */
export class AdminKey extends Context.Tag("webhook-trigger/AdminKey")<
  AdminKey,
  {
    /** Whether this is the key; takes as long for a nearly right one as for any other. */
    readonly verify: (candidate: Redacted.Redacted) => boolean
    /**
     * A signature that only a server with this key can make, on every replica the same: for what is handed to a caller who
     * showed the key. Another key makes all of them worthless.
     */
    readonly sign: (text: string) => string
    /** The key that this start made, to be shown once; none when it was given or made before. */
    readonly generated: Option.Option<Redacted.Redacted>
  }
>() {
  /** The key that the operator chose. It is not stored. */
  static readonly layerGiven = (key: Redacted.Redacted): Layer.Layer<AdminKey> =>
    Layer.succeed(AdminKey, { verify: verifier(hash(key)), sign: signer(hash(key)), generated: Option.none() })

  /** Made on the first start, of which only the hash is kept; of servers that start at once, one makes it. */
  static readonly layerGenerated: Layer.Layer<AdminKey, Unavailable, AdminKeyStore> = Layer.effect(
    AdminKey,
    Effect.gen(function* () {
      const store = yield* AdminKeyStore
      const known = yield* store.adminKeyHash
      if (Option.isSome(known)) {
        return { verify: verifier(known.value), sign: signer(known.value), generated: Option.none() }
      }
      const made = Redacted.make(`wha_${randomBytes(32).toString("base64url")}`)
      const stands = yield* store.claimAdminKeyHash(hash(made))
      const verify = verifier(stands)
      return { verify, sign: signer(stands), generated: Option.liftPredicate(made, verify) }
    })
  )
}

const hash = (key: Redacted.Redacted): Uint8Array => createHash("sha256").update(Redacted.value(key)).digest()

const verifier = (expected: Uint8Array) => (candidate: Redacted.Redacted) => timingSafeEqual(hash(candidate), expected)

/** With a key of its own, derived from the hash (RFC 5869): a signature says nothing of either. */
const signer = (expected: Uint8Array) => {
  const key = new Uint8Array(hkdfSync("sha256", expected, "", "webhook-trigger signature", 32))
  return (text: string) => createHmac("sha256", key).update(text).digest("base64url")
}
