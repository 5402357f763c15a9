/** The difference between two texts, by lines. Plain data: the web UI loads it without Effect. */
import { diffArrays } from "diff"

export interface DiffLine {
  readonly kind: "same" | "removed" | "added"
  readonly text: string
  /** Line numbers from 1 in the old and the new text; absent if the line is not in it. */
  readonly before?: number
  readonly after?: number
}

/** Adjacent lines; `skipped` unchanged lines were left out before them. */
interface DiffHunk {
  readonly skipped: number
  readonly lines: ReadonlyArray<DiffLine>
}

/** With more differences than this, the whole text counts as replaced: the search grows with their square. */
const mostDifferences = 1_000

/** All lines of both texts, in order. */
export const diffLines = (before: string, after: string): ReadonlyArray<DiffLine> => {
  const [old, now] = [before.split("\n"), after.split("\n")]
  const changes = diffArrays(old, now, { maxEditLength: mostDifferences }) ?? [
    { removed: true, added: false, value: old },
    { removed: false, added: true, value: now }
  ]
  let [x, y] = [0, 0]
  return changes.flatMap(({ added, removed, value }) =>
    value.map((text): DiffLine => {
      if (added) return { kind: "added", text, after: ++y }
      if (removed) return { kind: "removed", text, before: ++x }
      return { kind: "same", text, before: ++x, after: ++y }
    })
  )
}

/** The changed lines, each with up to `context` lines around it. Empty if the texts are equal. */
export const hunksOf = (lines: ReadonlyArray<DiffLine>, context = 3): ReadonlyArray<DiffHunk> => {
  const isNear = new Array<boolean>(lines.length).fill(false)
  lines.forEach(({ kind }, i) => {
    if (kind !== "same") isNear.fill(true, Math.max(0, i - context), i + context + 1)
  })
  const hunks: Array<{ skipped: number; lines: Array<DiffLine> }> = []
  let skipped = 0
  lines.forEach((line, i) => {
    if (!isNear[i]) skipped++
    else if (skipped > 0 || hunks.length === 0) {
      hunks.push({ skipped, lines: [line] })
      skipped = 0
    } else hunks.at(-1)!.lines.push(line)
  })
  return hunks
}
