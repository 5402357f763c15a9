/**
 * Removes tokens. Trigger URLs contain a token, and proxies and senders repeat the URL: in `X-Original-URI`, in
 * `Referer`, in a payload. The stored and rendered parts of a request do not contain it. Browser-safe.
 */

const prefix = "whk_"

/** A token's letters and digits are the same in a URL, a form and JSON; the `_` before them may be encoded. */
const secretOf = (token: string): string => token.slice(prefix.length)

/** A text from a request, without the token of its URL. */
export const withoutToken = (text: string, token: string | undefined): string => {
  if (token === undefined) return text
  const secret = secretOf(token)
  return text.includes(secret) ? text.replaceAll(secret, "redacted") : text
}

/** The same for a text that was cut off, perhaps within the token. */
export const withoutCutToken = (text: string, token: string | undefined): string => {
  const whole = withoutToken(text, token)
  const secret = token === undefined ? "" : secretOf(token)
  // Fewer characters could be any text.
  for (let length = secret.length - 1; length >= 4; length--) {
    if (whole.endsWith(secret.slice(0, length))) return whole.slice(0, -length)
  }
  return whole
}

/** The JSON without the texts of these members, also if it was cut off within one. */
export const withoutMembers = (json: string, names: ReadonlyArray<string> = []): string =>
  names.reduce(
    (text, name) =>
      text.replaceAll(new RegExp(`("${name}"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*(?:"|$)`, "gs"), '$1"redacted"'),
    json
  )

const anyToken = /whk_[0-9a-z]{43}/i

/** A letter, digit or sign in a URL, also if it was encoded more than once: `%5f`, `%255f`. */
const encoded = /%(?:25)*([2-7][0-9a-f])/gi

/** The text with what is encoded in it decoded, also where parts of a code are encoded: `%255%66`. */
const decoded = (text: string, passes = 8): string => {
  const once = text.replaceAll(encoded, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return once === text || passes === 1 ? once : decoded(once, passes - 1)
}

/** Whether a text to be saved contains any webhook's token. */
export const containsToken = (text: string): boolean => anyToken.test(decoded(text))
