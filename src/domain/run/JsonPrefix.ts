import * as Json from "../Json.ts"

/** One token of JSON, or a string that does not end. */
const token = /\s*(?:([{[])|([}\]])|(,)|(:)|("(?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*)("?)|([^\s,:"[\]{}]+))/iy

/**
 * The object whose JSON begins with `json`, as far as it is known: the last string ends where `json` ends. An
 * incomplete number or word, and a name without a value, are left out.
 */
export const parseJsonPrefix = (json: string): Readonly<Record<string, unknown>> => {
  const open: Array<"}" | "]"> = []
  let isName = false
  let known = "{}"
  const knownUpTo = (end: number, rest = "") => {
    known = json.slice(0, end) + rest + open.toReversed().join("")
  }
  token.lastIndex = 0
  for (let match = token.exec(json); match !== null; match = token.exec(json)) {
    const [, opened, closed, comma, colon, text, quote, word] = match
    const end = token.lastIndex
    if (opened) {
      open.push(opened === "{" ? "}" : "]")
      isName = opened === "{"
      knownUpTo(end)
    } else if (closed) {
      open.pop()
      knownUpTo(end)
    } else if (comma) isName = open.at(-1) === "}"
    else if (colon) isName = false
    else if (text && !isName) knownUpTo(end, quote ? "" : '"')
    else if (word && end < json.length) knownUpTo(end)
    if (text && !quote) break
  }
  return Json.parse(known) as Readonly<Record<string, unknown>>
}
