/** Cuts what is too long. The raw text is cut and then written, so that nothing of it loses what makes it harmless. */

export type Write = (raw: string) => string

/** How long a written text is. Default: its characters. */
export type Measure = (text: string) => number

export const characters: Measure = (text) => text.length

/** The beginning of a block, and the raw rest of it. */
interface Cut {
  readonly head: string
  readonly rest: string
}

/** As much as fits, up to a line break or else a space, if one is near. `undefined`: nothing fits. */
export const cutText = (raw: string, size: number, write: Write, measure: Measure): Cut | undefined => {
  let length = Math.min(raw.length, size)
  while (length > 0) {
    const end = endOf(raw, length)
    const head = write(raw.slice(0, end))
    const measured = measure(head)
    if (measured <= size)
      return head.trim() === "" ? undefined : { head, rest: raw.slice(end).replace(/^ /, "").replace(/^\n/, "") }
    length = Math.min(end - 1, Math.floor((end * size) / measured))
  }
  return undefined
}

/** The most items that fit together. */
export const fitting = (count: number, fits: (count: number) => boolean): number => {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

/** At the last line break, else the last space, else within a word; never within a character. */
const endOf = (text: string, size: number): number => {
  if (text.length <= size) return text.length
  const least = size / 2
  const newline = text.lastIndexOf("\n", size)
  if (newline > least) return newline
  const space = text.lastIndexOf(" ", size)
  if (space > least) return space
  const isWithinPair = /[\ud800-\udbff]/.test(text[size - 1]!)
  return isWithinPair && size > 1 ? size - 1 : size
}
