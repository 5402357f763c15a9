/**
 * Headers that templates, filters and history never see: callers' credentials, and what proxies add of them. Recognized
 * by words in their names, because each service has its own.
 */
const secretWords =
  /auth(?!or(?:-|$))|cookie|credential|secret|signature|token|password|passwd|passcode|hmac|api-?key|access-?key|(?<!idempotency)-key$|client-?cert|session|assertion|jwt|(?:^|[-_])(?:sig|pin|otp)(?:[-_]|$)/

/** Whether the lower-case name is such a header. `others`: those that a webhook names. */
export const isSecretHeader = (name: string, others: ReadonlyArray<string>): boolean =>
  secretWords.test(name) || others.includes(name)
