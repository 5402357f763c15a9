/** The verdict on a request that is sent with these options and secrets. */
import { createHmac } from "node:crypto"
import { describe as describeSender, type Options } from "../../../src/domain/verification/Presets.ts"
import { makeCheck, type SignedRequest, verify } from "../../../src/engine/verify/Verify.ts"

export interface Sent {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

export const verdictOf = (options: Options, secrets: string | ReadonlyArray<string>, sent: Sent, now = Date.now()) => {
  const checks = [secrets].flat().map((secret) => makeCheck(describeSender(options, secret), secret, options.username))
  const request: SignedRequest = { ...sent, body: Buffer.from(sent.body), method: "POST", url: () => "" }
  return verify(checks, request, now)
}

export const outcome = (...args: Parameters<typeof verdictOf>) => {
  const verdict = verdictOf(...args)
  return verdict._tag === "Refused" ? verdict.cause : verdict._tag
}

export const hmac = (
  secret: string | Buffer,
  content: string,
  encoding: "hex" | "base64" = "hex",
  algorithm = "sha256"
) => createHmac(algorithm, secret).update(content).digest(encoding)

export const secret = "It's a Secret to Everybody"
