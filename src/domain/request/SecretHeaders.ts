/**
 * Headers that no template, filter or history sees: what a caller shows to be let in, and what proxies add of it. By the
 * words in their names, because each service has its own.
 */
const secretWords =
  /auth(?!or(?:-|$))|cookie|credential|secret|signature|token|password|passwd|passcode|hmac|api-?key|access-?key|(?<!idempotency)-key$|client-?cert|session|assertion|jwt|(?:^|[-_])(?:sig|pin|otp)(?:[-_]|$)/

/** Of a name in lower case. `others`: those of which a webhook knows that they hold a secret. */
export const isSecretHeader = (name: string, others: ReadonlyArray<string>): boolean =>
  secretWords.test(name) || others.includes(name)
