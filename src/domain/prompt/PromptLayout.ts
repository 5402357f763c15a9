/**
 * What a prompt is made up of. It is stored with a run in place of its template and its values, which it gives back from the
 * prompt: short, and right however the webhook is edited later.
 */

/**
 * The parts in their order: a number is so many characters of the template, `[name, n]` are `n` characters that stand where
 * `{{name}}` was, and a negative number is characters of neither, such as a fence. In UTF-16 code units.
 */
export type PromptLayout = ReadonlyArray<number | readonly [name: string, length: number]>

/** A prompt taken apart. */
export interface PromptParts {
  /** The prompt with each value's placeholder in the value's place. */
  readonly template: string
  /** The values' texts, by their placeholders' names, any of which is an own property. */
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

/** A part of a prompt; `name`: of the placeholder in whose place it stands. */
export interface PromptPiece {
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
