import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"

/** 32 bytes. */
export type SecretKey = Redacted.Redacted<Uint8Array>

/**
 * The keys that encrypt webhooks' secrets in the database (AES-256-GCM, NIST SP 800-38D). Without this service,
 * webhooks cannot have secrets.
 */
export class SecretKeys extends Context.Reference("webhook-trigger/SecretKeys", {
  defaultValue: (): SecretKeysService => ({ all: () => [], first: Effect.succeed(undefined) })
}) {
  /** The first encrypts, all decrypt. */
  static readonly layer = (keys: ReadonlyArray<SecretKey>): Layer.Layer<never> =>
    Layer.succeed(SecretKeys, { all: () => keys, first: Effect.succeed(keys[0]) })
}

interface SecretKeysService {
  /** The keys known so far. */
  readonly all: () => ReadonlyArray<SecretKey>
  /** The key that encrypts, which may be created now; `undefined`: there is none. */
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

/** Parsed like `parseKey`. */
export const keyText = (key: SecretKey): string => Buffer.from(Redacted.value(key)).toString("base64")

/** Identifies the key, and reveals nothing about it. */
export const fingerprintOf = (key: SecretKey): Uint8Array =>
  createHash("sha256").update("webhook-trigger key of secrets").update(Redacted.value(key)).digest()

/** The beginning of a key's fingerprint, for people. */
export const keyIdOf = (fingerprint: Uint8Array): string => Buffer.from(fingerprint).toString("hex").slice(0, 8)

/** The prefix of each secret in the database that the key encrypts. */
export const keyId = (key: SecretKey): string => keyIdOf(fingerprintOf(key))

/** Binds a secret to its record: a copy in another row cannot be decrypted. */
const context = (id: string): Buffer => Buffer.from(`webhook-trigger secret of ${id}`)

/** A stored secret: the key's ID, and in base64 a nonce, the encrypted secret and its tag. */
export const seal = (key: SecretKey, secret: Redacted.Redacted, id: string): string => {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv("aes-256-gcm", Redacted.value(key), nonce).setAAD(context(id))
  const sealed = [nonce, cipher.update(Redacted.value(secret), "utf8"), cipher.final(), cipher.getAuthTag()]
  return `${keyId(key)}.${Buffer.concat(sealed).toString("base64")}`
}

/** Whether this key encrypted it. */
export const isSealedWith = (key: SecretKey, sealed: string): boolean => sealed.startsWith(`${keyId(key)}.`)

/** `undefined`: none of these keys encrypted this secret for this record. */
export const open = (keys: ReadonlyArray<SecretKey>, sealed: string, id: string): Redacted.Redacted | undefined => {
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
