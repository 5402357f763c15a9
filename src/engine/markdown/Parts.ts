/** Text in parts of a limited length. */
import { characters, type Measure } from "./Cut.ts"
import { type Block, type Dialect, safeUrl, toBlocks } from "./Markdown.ts"

interface Room {
  /** Parts. */
  readonly count: number
  readonly dialect: Dialect
  /** The size of each part. */
  readonly size: number
  readonly measure?: Measure
}

/** Less than this share of a part is not worth a piece of a block, if there is another part. */
const leastShare = 4

/**
 * The longest beginning that fits, and whether there is more: all blocks that fit, and of the first that does not, a piece. A
 * block that would fit into the next part is not cut.
 */
export const toParts = (
  markdown: string,
  { count, dialect, measure = characters, size }: Room
): { readonly parts: ReadonlyArray<string>; readonly isCut: boolean } => {
  const rest = toBlocks(markdown, dialect).toReversed()
  const parts: Array<string> = []
  let part = ""
  for (let block = rest.pop(); block !== undefined; block = rest.pop()) {
    const isLast = parts.length === count - 1
    const longer = joined(part, block.text)
    if (measure(longer) <= size) {
      part = longer
      continue
    }
    const space = size - measure(joined(part, ""))
    const wouldFit = part !== "" && measure(block.text) <= size
    const isWorthIt = isLast || (!wouldFit && space >= size / leastShare)
    const cut = isWorthIt
      ? block.cut(space, (text) => measure(joined(part, text)) - measure(joined(part, "")))
      : undefined
    if (cut !== undefined) part = joined(part, cut.head)
    // Nothing of it would fit anywhere.
    if (isLast || (cut === undefined && part === ""))
      return { parts: part === "" ? parts : [...parts, part], isCut: true }
    rest.push(...(cut === undefined ? [block] : cut.rest.toReversed()))
    parts.push(part)
    part = ""
  }
  return { parts: part === "" ? parts : [...parts, part], isCut: false }
}

const joined = (part: string, text: string): string => (part === "" ? text : `${part}\n\n${text}`)

/** Below a text that was cut. */
export const moreNote = (dialect: Dialect, page: string | undefined, text = "The answer is longer."): string => {
  const url = page === undefined ? undefined : safeUrl(page)
  return `${dialect.em(dialect.text(text))}${url === undefined ? "" : ` ${dialect.link(dialect.text("Show the run"), url)}`}`
}

/** The text that fits, with a note below it if cut. `limit`: the characters of the Markdown that are looked at. */
export const toText = (
  markdown: string,
  { limit, note, ...room }: Omit<Room, "count"> & { readonly limit: number; readonly note: string }
): { readonly text: string; readonly isCut: boolean } => {
  const shown = markdown.slice(0, limit).toWellFormed()
  const isShort = shown.length === markdown.length
  const whole = isShort ? toParts(shown, { ...room, count: 1 }) : undefined
  if (whole?.isCut === false) return { text: whole.parts[0] ?? "", isCut: false }
  const [part = ""] = toParts(shown, { ...room, count: 1, size: room.size - note.length - 2 }).parts
  return { text: joined(part, note), isCut: true }
}

/** A block in pieces that fit. */
export const piecesOf = (block: Block, size: number): ReadonlyArray<Block> => {
  if (block.text.length <= size) return [block]
  const cut = block.cut(size, characters)
  if (cut === undefined) return []
  return [{ ...block, text: cut.head }, ...cut.rest.flatMap((rest) => piecesOf(rest, size))]
}
