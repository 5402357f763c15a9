import { hash, randomBytes } from "node:crypto"
import { crc32 } from "node:zlib"
import type { TokenHash } from "../../domain/webhook/Token.ts"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

const base62 = (value: bigint, length: number): string => {
  let text = ""
  for (let rest = value; text.length < length; rest /= 62n) text = alphabet[Number(rest % 62n)] + text
  return text
}

const checksumOf = (text: string): string => base62(BigInt(crc32(text)), 6)

type Prefix = "whk_" | "wha_" | "whl_" | "who_" | "whp_"

/**
 * A secret that scanners recognize: a prefix, 43 base62 characters that encode 32 random bytes, and their CRC-32 as six
 * base62 characters. A lookalike is recognized without a lookup, as with GitHub's tokens.
 */
export const makeSecret = (prefix: Prefix): string => {
  const text = base62(BigInt(`0x${randomBytes(32).toString("hex")}`), 43)
  return `${prefix}${text}${checksumOf(text)}`
}

/** Whether the last six characters are the checksum of the others. */
export const isChecksum = (text: string, checksum: string): boolean => checksumOf(text) === checksum

const wellFormed = /^(wh[kalop]_)([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** Whether the text has the form of a secret with this prefix. Anything else needs no lookup. */
export const isSecretShaped = (prefix: Prefix, text: string): boolean => {
  const [, start, random = "", checksum = ""] = wellFormed.exec(text) ?? []
  return start === prefix && isChecksum(random, checksum)
}

/** The hash of a key, as it is stored. */
export const hashOf = (key: string): TokenHash => hash("sha256", key, "buffer")
