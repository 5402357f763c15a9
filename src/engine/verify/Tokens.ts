/** JSON Web Tokens of callers: what a request's token must say, once its issuer's keys were tried on it. */
import type { VerificationCause } from "../../domain/Errors.ts"
import type { Jwt } from "../../domain/verification/Description.ts"
import type { Lookup, SignedRequest } from "./RequestLookup.ts"
import { isSecret } from "./Signing.ts"

/** The token that a request must be checked with. */
export class NeedsToken {
  readonly _tag = "NeedsToken"
  readonly token: string
  readonly of: Jwt
  constructor(token: string, of: Jwt) {
    this.token = token
    this.of = of
  }
}

/** In characters. Tokens have about 1,000. */
const maxToken = 8_000

/** The fault of the token; `undefined`: none. Before the body is read, only whether there is one. */
export const causeOf = (
  description: Jwt,
  secret: string,
  lookup: Lookup,
  { body, evidence }: SignedRequest
): Exclude<VerificationCause, "address"> | NeedsToken | undefined => {
  const sent = lookup.header("authorization")
  if (sent === undefined) return "missing"
  const [, token] = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(sent) ?? []
  if (token === undefined || token.length > maxToken) return "malformed"
  if (body === undefined) return undefined
  if (evidence === undefined || !("token" in evidence) || evidence.token !== token) {
    return new NeedsToken(token, description)
  }
  const { claims, isExpired } = evidence
  if (claims === undefined) return isExpired ? "expired" : "mismatch"
  const { claim } = description
  const whose = claims[claim]
  const isUnproven = claim === "email" && claims.email_verified !== true
  return typeof whose === "string" && !isUnproven && isSecret(Buffer.from(whose), Buffer.from(secret))
    ? undefined
    : "mismatch"
}
