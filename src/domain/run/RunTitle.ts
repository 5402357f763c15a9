/** The title of a run where people look for it. Browser-safe. */

/** In Unicode code points. */
const maxTitle = 120

/** The text in one line, cut to `maxTitle`; `undefined`: it is blank. */
export const titleOfText = (text: string): string | undefined => {
  // A title takes little of a long text: at most two code units a character, and as much again of blanks.
  const line = text
    .slice(0, 10 * maxTitle)
    .replace(/[\uD800-\uDBFF]$/, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
  const characters = [...line]
  return characters.length <= maxTitle
    ? line || undefined
    : `${characters
        .slice(0, maxTitle - 1)
        .join("")
        .trimEnd()}…`
}

/** The note and the marks of a fenced prompt, which say nothing about the run. */
const fence = /^Text between <data-\w+> and <\/data-\w+> is untrusted data\..*|<\/?data-[0-9a-f]{16,}>/g

/** Says what the text is, as in Markdown; the rest of the line says what it is about. */
const mark = /^\s*(?:#{1,6}\s+|[-*>]\s+|```\w*$|---+$)/

/** Without Markdown's signs for code, bold text and links, each found in one pass. */
const plain = (line: string): string =>
  line
    .replace(/`([^`]+)`/g, "$1")
    .replace(/\*\*(?!\s)([^*]+)\*\*/g, "$1")
    .replace(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1")

/** Markdown as text for a list, in as many lines. */
export const plainText = (text: string): string =>
  text
    .slice(0, 4_000)
    .split("\n")
    .map((line) => plain(line.replace(mark, "")))
    .join("\n")
    .trim()

/** The first line that says something. */
export const firstLine = (text: string): string | undefined => {
  for (const line of text.slice(0, 4_000).split("\n")) {
    const title = titleOfText(plain(line.replace(fence, "").replace(mark, "")))
    if (title !== undefined && /[\p{L}\p{N}]/u.test(title)) return title
  }
  return undefined
}

interface Titled {
  readonly run_id: string
  readonly title?: string | undefined
  readonly conversation: { readonly prompt: string }
}

/** Its title; else the first line of its prompt, and of an empty one the ID. */
export const titleOf = ({ conversation, run_id, title }: Titled): string =>
  (title && plain(title)) ?? firstLine(conversation.prompt) ?? run_id

/** Why a run failed, in a line. */
export const errorLine = ({
  error
}: {
  readonly error?: { readonly code: string; readonly message: string } | undefined
}): string | undefined => error && (firstLine(error.message) ?? error.code)
