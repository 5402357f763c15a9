/**
 * Servers of one database must have the same secrets key; otherwise one cannot read what another has encrypted. The first
 * server with a key leaves its fingerprint in the database. Every server must have that key, as its first or any other.
 * `SecretRotation` changes the fingerprint once everything is encrypted with another key.
 */
import { Effect, Option } from "effect"
import { SecretKeyStore } from "../repo/SecretKeyStore.ts"
import { fingerprintOf, keyIdOf, SecretKeys } from "./SecretKeys.ts"

/** The explanation for the operator. */
const disagreement = (fingerprint: Uint8Array): string =>
  `This server does not have the key ${keyIdOf(fingerprint)}, with which the secrets in the database are encrypted: give it the SECRETS_KEY of the other servers, or its secrets.key when the database is embedded (docs/verification.md, Secrets at rest).`

export const make = Effect.gen(function* () {
  const keys = yield* SecretKeys
  const store = yield* SecretKeyStore

  /** The database's fingerprint. If there was none, it becomes that of this server's first key. */
  const fingerprint = Effect.flatMap(store.secretKeyFingerprint, (known) => {
    const [first] = keys.all()
    return Option.isSome(known) || first === undefined
      ? Effect.succeed(known)
      : Effect.asSome(store.setSecretKeyFingerprint(fingerprintOf(first), known))
  })

  const isOwn = (fingerprint: Uint8Array): boolean =>
    keys.all().some((key) => Buffer.compare(fingerprintOf(key), fingerprint) === 0)

  /** Why this server must not encrypt and cannot decrypt; none if it has the key. */
  const fault = Effect.map(fingerprint, (known) =>
    Option.filterMap(known, (known) => (isOwn(known) ? Option.none() : Option.some(disagreement(known))))
  )

  return { fault, fingerprint }
})
