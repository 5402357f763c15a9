/** Text in parts of a limited length. */
import type { Block, Dialect } from "./Markdown.ts"

/** Packs blocks into parts of at most `size` characters, and says whether more than `count` parts would be needed. */
export const toParts = (
  blocks: ReadonlyArray<Block>,
  { count, dialect, size }: { readonly count: number; readonly dialect: Dialect; readonly size: number }
): { readonly parts: ReadonlyArray<string>; readonly isCut: boolean } => {
  const parts: Array<string> = []
  let part = ""
  for (const piece of blocks.flatMap((block) => piecesOf(block, size, dialect))) {
    const longer = part === "" ? piece : `${part}\n\n${piece}`
    if (longer.length <= size) {
      part = longer
      continue
    }
    parts.push(part)
    part = piece
  }
  if (part !== "") parts.push(part)
  return { parts: parts.slice(0, count), isCut: parts.length > count }
}

/** Code becomes several fences; other text is split between words. */
const piecesOf = ({ code, text }: Block, size: number, dialect: Dialect): ReadonlyArray<string> => {
  if (text.length <= size) return [text]
  if (code === undefined) return split(text, size)
  // Escaping makes code longer, so its pieces are halved until they fit.
  const fenced = (raw: string): ReadonlyArray<string> => {
    const whole = dialect.fence(raw)
    return whole.length <= size ? [whole] : split(raw, Math.ceil(raw.length / 2)).flatMap(fenced)
  }
  return split(code, size - dialect.fence("").length).flatMap(fenced)
}

/** At the last line break, else the last space, else within a word; never within a character. */
export const split = (text: string, size: number): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  let rest = text
  while (rest.length > size) {
    const end = endOf(rest, size)
    pieces.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).replace(/^ /, "").replace(/^\n/, "")
  }
  return [...pieces, rest].filter((piece) => piece !== "")
}

const endOf = (text: string, size: number): number => {
  const least = size / 2
  const newline = text.lastIndexOf("\n", size)
  if (newline > least) return newline
  const space = text.lastIndexOf(" ", size)
  if (space > least) return space
  const isWithinPair = /[\ud800-\udbff]/.test(text[size - 1]!)
  return isWithinPair && size > 1 ? size - 1 : size
}
