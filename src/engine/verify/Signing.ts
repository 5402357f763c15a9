/** Secrets as keys: what they sign, and how signatures are compared. */
import {
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify as verifySignature
} from "node:crypto"
import type {
  Algorithm,
  Description,
  Ed25519,
  Encoding,
  Hmac,
  PublicKey
} from "../../domain/verification/Description.ts"
import { isTopicArn } from "./SnsTopic.ts"

/** The bytes of correctly encoded text. */
export const decode = (text: string, encoding: Encoding): Buffer | undefined => {
  const bytes = Buffer.from(text, encoding)
  // Node ignores invalid characters. Hex may be in upper and lower case (RFC 4648, 8).
  const canonical = encoding === "hex" ? text.toLowerCase() : text
  return bytes.length > 0 && bytes.toString(encoding) === canonical ? bytes : undefined
}

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)

const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest()

/** Compares in a time that depends neither on the contents, nor on the secret's length. */
export const isSecret = (sent: Uint8Array, secret: Uint8Array): boolean => timingSafeEqual(sha256(sent), sha256(secret))

/** A header's bytes: Node gives one character for each. */
export const bytesOf = (header: string): Buffer => Buffer.from(header, "latin1")

/** Why it cannot be the secret of this description, in words that continue `The secret`; `undefined` if it can. */
export const faultOf = (description: Description, secret: string): string | undefined => {
  if (description.scheme === "sns") return isTopicArn(secret) ? undefined : "must be the ARN of a topic"
  if (description.scheme === "public key") return faultOfPublicKey(secret)
  if (!("key" in description) || description.key === "text") return undefined
  const key = keyIn(description.key, secret)
  if (key === undefined) {
    if (description.key === "hex") return "must be in hex"
    const { base64After } = description.key
    return base64After === "" ? "must be base64" : `must be base64, after \`${base64After}\``
  }
  if (description.scheme !== "ed25519") return undefined
  if (key.length !== 32) return "must be a public key of 32 bytes"
  return isOfLowOrder(key) ? lowOrderFault : undefined
}

const lowOrderFault = "must be a secure public key: with this one, anyone can sign"

/**
 * The points of Ed25519 whose order is 8 at most, in all their encodings, ignoring the sign bit (libsodium's
 * `ge25519_has_small_order`). With one of them as public key, signatures can be made without any private key.
 */
const lowOrder: ReadonlySet<string> = new Set([
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  ...["ec", "ed", "ee"].map((first) => `${first}${"ff".repeat(30)}7f`)
])

const isOfLowOrder = (key: Buffer): boolean => {
  const point = Buffer.from(key)
  point[31]! &= 0x7f
  return lowOrder.has(point.toString("hex"))
}

const spkiIn = (secret: string): KeyObject | undefined => {
  try {
    return createPublicKey({ key: Buffer.from(secret, "base64"), format: "der", type: "spki" })
  } catch {
    return undefined
  }
}

const faultOfPublicKey = (secret: string): string | undefined => {
  const key = spkiIn(secret)
  const bytes =
    key?.asymmetricKeyType === "ed25519" ? Buffer.from(key.export({ format: "jwk" }).x!, "base64url") : undefined
  if (!["ed25519", "ec", "rsa"].includes(key?.asymmetricKeyType ?? "")) {
    return "must be the public key of Ed25519, RSA or ECDSA: the lines of a PEM file without the first and the last, as one line"
  }
  return bytes !== undefined && isOfLowOrder(bytes) ? lowOrderFault : undefined
}

/** With or without padding. */
const keyAfter = (beginning: string, secret: string): Buffer | undefined => {
  const text = (secret.startsWith(beginning) ? secret.slice(beginning.length) : secret).replace(/=+$/, "")
  return decode(text.padEnd(Math.ceil(text.length / 4) * 4, "="), "base64")
}

const keyIn = (written: "hex" | { readonly base64After: string }, secret: string): Buffer | undefined =>
  written === "hex" ? decode(secret, "hex") : keyAfter(written.base64After, secret)

/** The Ed25519 public key in OpenSSL's form: its 32 bytes after a fixed prefix (RFC 8410). */
const publicKey = (bytes: Buffer): KeyObject =>
  createPublicKey({
    key: Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), bytes]),
    format: "der",
    type: "spki"
  })

/** Whether one of these signatures belongs to this content, given in parts. */
type Signer = (content: ReadonlyArray<Uint8Array>, signatures: ReadonlyArray<Buffer>) => boolean

const hmacKey = ({ key }: Hmac, secret: string): Buffer | undefined =>
  key === "text" ? Buffer.from(secret) : keyIn(key, secret)

/** The HMAC of a text, in hex. */
export const hmacOf = (description: Hmac, secret: string, text: string): string =>
  createHmac(description.algorithm, hmacKey(description, secret) ?? "")
    .update(text)
    .digest("hex")

const hmacSigner = (description: Hmac, secret: string): Signer => {
  const { algorithm } = description
  const keyBytes = hmacKey(description, secret)
  if (keyBytes === undefined) return () => false
  return (content, signatures) => {
    const hmac = createHmac(algorithm, keyBytes)
    for (const part of content) hmac.update(part)
    const expected = hmac.digest()
    return signatures.some((signature) => isEqual(signature, expected))
  }
}

const ed25519Signer = (description: Ed25519, secret: string): Signer => {
  if (faultOf(description, secret) !== undefined) return () => false
  const key = publicKey(keyIn(description.key, secret)!)
  return (content, signatures) => {
    const bytes = Buffer.concat(content)
    return signatures.some((signature) => signature.length === 64 && verifySignature(null, bytes, key, signature))
  }
}

const publicKeySigner = (algorithm: Algorithm, secret: string): Signer => {
  const key = faultOfPublicKey(secret) === undefined ? spkiIn(secret) : undefined
  if (key === undefined) return () => false
  const digest = key.asymmetricKeyType === "ed25519" ? null : algorithm
  return (content, signatures) => {
    const bytes = Buffer.concat(content)
    return signatures.some((signature) => verifySignature(digest, bytes, key, signature))
  }
}

export const makeSigner = (description: Hmac | Ed25519 | PublicKey, secret: string): Signer => {
  switch (description.scheme) {
    case "hmac":
      return hmacSigner(description, secret)
    case "ed25519":
      return ed25519Signer(description, secret)
    case "public key":
      return publicKeySigner(description.algorithm, secret)
  }
}
