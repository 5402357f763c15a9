/** Removes what a support bundle must not contain, whichever part of it the text is from. */

/** Shorter values would remove half of the text. */
const leastSecret = 4

/** A password may have a `%` that encodes nothing. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The user, the password and the query of an address, which may have keys. */
const addressSecrets = (text: string): ReadonlyArray<string> => {
  if (!URL.canParse(text)) return []
  const { password, search, username } = new URL(text)
  return [password, decoded(password), search.slice(1), username].filter((part) => part !== "")
}

const tokens = /\bwh[a-z]_[0-9A-Za-z_-]{8,}/g
const eMail = /[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(\.[\w-]+)+/g
const userInfo = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi
const query = /(\bhttps?:\/\/[^\s?"'#]+)\?[^\s"']*/gi

/** A function for texts. `secrets` are the values of variables that are secret. */
export const make = (secrets: ReadonlyArray<string>) => {
  const values = secrets
    .flatMap((secret) => [secret, secret.trim(), ...addressSecrets(secret)])
    .filter((value) => value.length >= leastSecret)
    .sort((a, b) => b.length - a.length)
  return (text: string): string =>
    values
      .reduce((rest, value) => rest.replaceAll(value, "[removed]"), text)
      .replace(userInfo, "$1[removed]@")
      .replace(query, "$1?[removed]")
      .replace(tokens, "[removed]")
      .replace(eMail, "[removed]")
}
