/**
 * Trigger URLs contain a token, and proxies and senders repeat the URL: in `X-Original-URI`, in `Referer`, in a payload. What
 * is kept or rendered of a request does not. Browser-safe.
 */

const prefix = "whk_"

/** The letters and digits of a token are the same in a URL, a form and JSON; the `_` before them need not be. */
const secretOf = (token: string): string => token.slice(prefix.length)

/** A text of a request on the URL with this token. */
export const withoutToken = (text: string, token: string | undefined): string => {
  if (token === undefined) return text
  const secret = secretOf(token)
  return text.includes(secret) ? text.replaceAll(secret, "redacted") : text
}

/** The same of a text that was cut off, perhaps within the token. */
export const withoutCutToken = (text: string, token: string | undefined): string => {
  const whole = withoutToken(text, token)
  const secret = token === undefined ? "" : secretOf(token)
  // Fewer characters may be anything else.
  for (let length = secret.length - 1; length >= 4; length--) {
    if (whole.endsWith(secret.slice(0, length))) return whole.slice(0, -length)
  }
  return whole
}

/** Any webhook's token, in a text that is to be saved. */
const anyToken = /whk(?:_|%5f)[0-9a-z]{43}/i

export const containsToken = (text: string): boolean => anyToken.test(text)
