import { hash, randomBytes } from "node:crypto"
import { Effect, Redacted } from "effect"
import type { TokenHash } from "../domain/Token.ts"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const length = 43
const wellFormed = /^whk_[0-9A-Za-z]{43}$/

/**
 * The secret in a trigger URL: `whk_` and 43 base62 characters that write 32 random bytes. Redacted, so that no log
 * line or error can print it by accident.
 */
export type Token = Redacted.Redacted<string>

export const makeToken: Effect.Effect<Token> = Effect.sync(() => {
  let rest = BigInt(`0x${randomBytes(32).toString("hex")}`)
  let text = ""
  for (let i = 0; i < length; i++) {
    text = alphabet[Number(rest % 62n)] + text
    rest /= 62n
  }
  return Redacted.make(`whk_${text}`)
})

/** Whether the text has the form of a token; anything else cannot be one and needs no look-up. */
export const isTokenShaped = (text: string): boolean => wellFormed.test(text)

export const hashToken = (token: Token): TokenHash => hash("sha256", Redacted.value(token), "buffer")

/** The last four characters, enough to distinguish tokens in a list: `…x7Qa`. */
export const tokenHint = (token: Token): string => `…${Redacted.value(token).slice(-4)}`
