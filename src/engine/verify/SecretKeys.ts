import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import type { WebhookId } from "../../domain/Id.ts"

/** 32 bytes. */
export type SecretKey = Redacted.Redacted<Uint8Array>

/**
 * The keys with which webhooks' secrets are encrypted in the database (AES-256-GCM, NIST SP 800-38D). Without this service
 * there are none, and webhooks cannot have secrets.
 */
export class SecretKeys extends Context.Reference<SecretKeys>()("webhook-trigger/SecretKeys", {
  defaultValue: (): SecretKeysService => ({ all: () => [], first: Effect.succeed(undefined) })
}) {
  /** The first encrypts, all decrypt. */
  static readonly layer = (keys: ReadonlyArray<SecretKey>): Layer.Layer<SecretKeys> =>
    Layer.succeed(SecretKeys, { all: () => keys, first: Effect.succeed(keys[0]) })
}

export interface SecretKeysService {
  /** As far as they are known by now. */
  readonly all: () => ReadonlyArray<SecretKey>
  /** The key that encrypts, which may be made now; `undefined`: there is none. */
  readonly first: Effect.Effect<SecretKey | undefined>
}

const keyLength = 32
const nonceLength = 12
const tagLength = 16

/** A key from its text: 64 hexadecimal digits, or base64 of 32 bytes. */
export const parseKey = (text: string): SecretKey | undefined => {
  const bytes = /^[\da-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64")
  const isWhole = bytes.length === keyLength && (text.length === 64 || /^[\w+/-]{43}=?$/.test(text))
  return isWhole ? Redacted.make(new Uint8Array(bytes)) : undefined
}

export const makeKey: Effect.Effect<SecretKey> = Effect.sync(() =>
  Redacted.make(new Uint8Array(randomBytes(keyLength)))
)

/** As `parseKey` reads it. */
export const keyText = (key: SecretKey): string => Buffer.from(Redacted.value(key)).toString("base64")

/** Identifies the key, and reveals nothing about it. */
export const fingerprintOf = (key: SecretKey): Uint8Array =>
  createHash("sha256").update("webhook-trigger key of secrets").update(Redacted.value(key)).digest()

/** The beginning of a key's fingerprint, for people. */
export const keyIdOf = (fingerprint: Uint8Array): string => Buffer.from(fingerprint).toString("hex").slice(0, 8)

/** Stored in the database before each secret that the key encrypts. */
export const keyId = (key: SecretKey): string => keyIdOf(fingerprintOf(key))

/** Binds a secret to its webhook: a copy in another row cannot be decrypted. */
const context = (id: WebhookId): Buffer => Buffer.from(`webhook-trigger secret of ${id}`)

/** A secret as it is stored: the key's id, and in base64 a nonce, the encrypted secret and its tag. */
export const seal = (key: SecretKey, secret: Redacted.Redacted, id: WebhookId): string => {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv("aes-256-gcm", Redacted.value(key), nonce).setAAD(context(id))
  const sealed = [nonce, cipher.update(Redacted.value(secret), "utf8"), cipher.final(), cipher.getAuthTag()]
  return `${keyId(key)}.${Buffer.concat(sealed).toString("base64")}`
}

/** Whether it was this key that encrypted it. */
export const isSealedWith = (key: SecretKey, sealed: string): boolean => sealed.startsWith(`${keyId(key)}.`)

/** `undefined`: none of these keys encrypted this secret for this webhook. */
export const open = (keys: ReadonlyArray<SecretKey>, sealed: string, id: WebhookId): Redacted.Redacted | undefined => {
  const key = keys.find((key) => isSealedWith(key, sealed))
  const bytes = Buffer.from(sealed.slice(sealed.indexOf(".") + 1), "base64")
  if (key === undefined || bytes.length < nonceLength + tagLength) return undefined
  const decipher = createDecipheriv("aes-256-gcm", Redacted.value(key), bytes.subarray(0, nonceLength))
    .setAAD(context(id))
    .setAuthTag(bytes.subarray(-tagLength))
  try {
    const content = bytes.subarray(nonceLength, -tagLength)
    return Redacted.make(Buffer.concat([decipher.update(content), decipher.final()]).toString())
  } catch {
    return undefined
  }
}
