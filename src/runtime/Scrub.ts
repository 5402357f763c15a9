/**
 * Removes known secrets from what is kept of a receiver's answer, as error pages repeat URLs and headers, and of an agent's
 * steps: viewers read them.
 */

/** Shorter ones are no secrets, and would be found in any text. */
const shortest = 4
/** Shorter parts of a path, other than the last, may be names, such as `services`. */
const longName = 16

/** A password may have a `%` that encodes nothing. */
export const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The parts of a URL with which others could send there. */
export const secretsOfUrl = (text: string): ReadonlyArray<string> => {
  if (!URL.canParse(text)) return []
  const { pathname, search, searchParams } = new URL(text)
  const parts = pathname.split("/").filter((part) => part !== "")
  return [
    text,
    ...(pathname.length > 1 ? [`${pathname}${search}`, pathname] : []),
    ...parts.filter((part, i) => part.length >= longName || i === parts.length - 1),
    ...[...searchParams.values()].filter((value) => value.length >= 8)
  ]
}

/** The value of a header, and of `Authorization` what comes after the scheme, also as user and password. */
export const secretsOfHeader = (value: string): ReadonlyArray<string> => {
  const [scheme = "", credentials = ""] = value.split(/\s+(.*)/s)
  if (credentials === "") return [value]
  const basic = scheme.toLowerCase() === "basic" ? Buffer.from(credentials, "base64").toString() : ""
  return [value, credentials, basic, basic.slice(basic.indexOf(":") + 1)]
}

/** As pages, JSON and URLs write it. */
const formsOf = (secret: string): ReadonlyArray<string> => {
  const json = JSON.stringify(secret).slice(1, -1)
  const html = secret.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")
  const quoted = html.replace(/"/g, "&quot;")
  return [
    ...[secret, decoded(secret), encodeURI(decoded(secret)), encodeURIComponent(decoded(secret))],
    ...[
      encodeURIComponent(secret),
      secret.replaceAll("/", "\\/"),
      json,
      json.replaceAll("/", "\\/"),
      json.replaceAll("/", "\\u002f")
    ],
    ...[html, quoted, quoted.replace(/'/g, "&#39;"), quoted.replaceAll("/", "&#x2F;"), quoted.replaceAll("/", "&#47;")],
    Buffer.from(secret).toString("base64")
  ]
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")

const allForms = (secrets: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(secrets.flatMap((secret) => (secret.length < shortest ? [] : formsOf(secret))))].toSorted(
    (a, b) => b.length - a.length
  )

const replacing = (forms: ReadonlyArray<string>, mark: string): ((text: string) => string) => {
  if (forms.length === 0) return (text) => text
  const all = new RegExp(forms.map(escaped).join("|"), "gi")
  return (text) => text.replace(all, mark)
}

/** For texts that may have been cut within a secret. */
export const make = (secrets: ReadonlyArray<string>): ((text: string) => string) => {
  const forms = allForms(secrets)
  const replace = replacing(forms, "redacted")
  return (text) => withoutEnd(replace(text), forms)
}

/** For whole texts, such as an agent's commands. */
export const makeWhole = (secrets: ReadonlyArray<string>): ((text: string) => string) =>
  replacing(allForms(secrets), "•••")

/** The text may have been cut within a secret. */
const withoutEnd = (text: string, forms: ReadonlyArray<string>): string => {
  const end = text.toLowerCase()
  const cut = forms.reduce((longest, form) => {
    for (let length = Math.min(form.length - 1, end.length); length >= shortest && length > longest; length--) {
      if (end.endsWith(form.slice(0, length).toLowerCase())) return length
    }
    return longest
  }, 0)
  return cut === 0 ? text : text.slice(0, -cut)
}
