import { hash } from "node:crypto"
import { Effect, Redacted } from "effect"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import { isChecksum, makeSecret } from "./Secret.ts"

/** The checksum is optional: a token without one is looked up. */
const wellFormed = /^whk_([0-9A-Za-z]{43})([0-9A-Za-z]{6})?$/

/** The secret in a trigger URL. Redacted, so that no log line or error prints it by accident. */
export type Token = Redacted.Redacted<string>

export const makeToken: Effect.Effect<Token> = Effect.sync(() => Redacted.make(makeSecret("whk_")))

/** Whether the text can be a token; anything else needs no lookup. */
export const isTokenShaped = (text: string): boolean => {
  const [, random, checksum] = wellFormed.exec(text) ?? []
  return random !== undefined && (checksum === undefined || isChecksum(random, checksum))
}

export const hashToken = (token: Token): TokenHash => hash("sha256", Redacted.value(token), "buffer")

/** The last four characters, enough to distinguish tokens in a list: `…x7Qa`. */
export const tokenHint = (token: Token): string => `…${Redacted.value(token).slice(-4)}`
