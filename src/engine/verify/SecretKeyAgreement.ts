/**
 * Servers of one database must have the same secrets key; otherwise one cannot read what another has encrypted. The first
 * encrypted secret leaves the fingerprint of its key in the database. From then on every server must have that key, as its
 * first or any other. `SecretRotation` changes the fingerprint once everything is encrypted with another key.
 */
import { Effect, Option } from "effect"
import { SecretKeyStore } from "../../repo/access/SecretKeyStore.ts"
import { fingerprintOf, keyIdOf, type SecretKey, SecretKeys } from "./SecretKeys.ts"

/** The explanation for the operator. */
const disagreement = (fingerprint: Uint8Array): string =>
  `This server does not have the key ${keyIdOf(fingerprint)}, with which the secrets in the database are encrypted: give it the SECRETS_KEY of the other servers, or its secrets.key when the database is embedded (docs/use/verification.md, Secrets at rest).`

export const make = Effect.gen(function* () {
  const keys = yield* SecretKeys
  const store = yield* SecretKeyStore

  const isOwn = (fingerprint: Uint8Array): boolean =>
    keys.all().some((key) => Buffer.compare(fingerprintOf(key), fingerprint) === 0)

  const faultOf = (fingerprint: Uint8Array): Option.Option<string> =>
    isOwn(fingerprint) ? Option.none() : Option.some(disagreement(fingerprint))

  /** Why this server must not encrypt and cannot decrypt; none if it has the key, or if nothing is encrypted yet. */
  const fault = Effect.map(store.secretKeyFingerprint, Option.flatMap(faultOf))

  /** Makes this the database's key if it has none. If it has another: why this server must not encrypt. */
  const claim = (key: SecretKey) =>
    Effect.map(store.setSecretKeyFingerprint(fingerprintOf(key), Option.none()), faultOf)

  return { fault, claim }
})
