/**
 * The parts of a prompt. A run stores this instead of its template and values, which can be recovered from the prompt.
 * So it is short, and later edits of the webhook do not affect it.
 */

/**
 * The parts in order, in UTF-16 code units: a number counts characters of the template, `[name, n]` are the `n`
 * characters of the value of `{{name}}`, and a negative number counts characters of neither, such as a fence.
 */
export type PromptLayout = ReadonlyArray<number | readonly [name: string, length: number]>

/** The parts of a prompt. */
interface PromptParts {
  /** The prompt with placeholders for its values. */
  readonly template: string
  /** The values' texts by placeholder name. All names are own properties. */
  readonly values: Readonly<Record<string, string>>
}

export const takeApart = (prompt: string, layout: PromptLayout): PromptParts => {
  const values = new Map<string, string>()
  let template = ""
  let at = 0
  for (const part of layout) {
    const length = typeof part === "number" ? Math.abs(part) : part[1]
    const text = prompt.slice(at, at + length)
    at += length
    if (typeof part === "object") {
      template += `{{${part[0]}}}`
      values.set(part[0], text)
    } else if (part > 0) template += text
  }
  return { template, values: Object.fromEntries(values) }
}

/** A part of a prompt; `name` is its placeholder's, if it is a value. */
interface PromptPiece {
  readonly text: string
  readonly name?: string
}

/** The whole prompt, in pieces. */
export const piecesOf = (prompt: string, layout: PromptLayout = []): ReadonlyArray<PromptPiece> => {
  const pieces: Array<PromptPiece> = []
  let at = 0
  for (const part of layout) {
    const length = typeof part === "number" ? Math.abs(part) : part[1]
    pieces.push({ text: prompt.slice(at, at + length), ...(typeof part === "object" && { name: part[0] }) })
    at += length
  }
  return at < prompt.length ? [...pieces, { text: prompt.slice(at) }] : pieces
}
