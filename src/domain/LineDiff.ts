/** What has changed between two texts, by lines. Plain data: the web UI loads it without Effect. */

export interface DiffLine {
  readonly kind: "same" | "removed" | "added"
  readonly text: string
  /** Counted from 1, in the text before and in the one after; absent where the line is not in it. */
  readonly before?: number
  readonly after?: number
}

/** Lines that stand together; `skipped`: how many lines that are the same in both were left out before them. */
export interface DiffHunk {
  readonly skipped: number
  readonly lines: ReadonlyArray<DiffLine>
}

/** Texts with more differences than this are shown as one that was replaced: what is searched grows with its square. */
const mostDifferences = 1_000

type Kind = DiffLine["kind"]

/** The shortest way from one list to the other (Myers 1986, "An O(ND) Difference Algorithm"), or none within the limit. */
const shortestEdit = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): Array<Kind> | undefined => {
  const [n, m] = [before.length, after.length]
  /** Of each number of differences, how far each diagonal was reached with one less. */
  const reached: Array<Map<number, number>> = []
  let furthest = new Map([[1, 0]])
  for (let d = 0; d <= Math.min(n + m, mostDifferences); d++) {
    reached.push(furthest)
    const next = new Map<number, number>()
    for (let k = -d; k <= d; k += 2) {
      const isDown = k === -d || (k !== d && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1))
      let x = isDown ? furthest.get(k + 1)! : furthest.get(k - 1)! + 1
      while (x < n && x - k < m && before[x] === after[x - k]) x++
      next.set(k, x)
      if (x >= n && x - k >= m) return wayBack(reached, n, m)
    }
    furthest = next
  }
  return undefined
}

const wayBack = (reached: ReadonlyArray<ReadonlyMap<number, number>>, n: number, m: number): Array<Kind> => {
  const way: Array<Kind> = []
  let [x, y] = [n, m]
  for (let d = reached.length - 1; d >= 0; d--) {
    const furthest = reached[d]!
    const k = x - y
    const isDown = k === -d || (k !== d && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1))
    const from = isDown ? furthest.get(k + 1)! : furthest.get(k - 1)!
    const fromY = from - (isDown ? k + 1 : k - 1)
    while (x > from && y > fromY && x > 0 && y > 0) {
      way.push("same")
      x--
      y--
    }
    if (d > 0) way.push(isDown ? "added" : "removed")
    x = from
    y = fromY
  }
  return way.reverse()
}

/** All lines of both texts, in order. */
export const diffLines = (before: string, after: string): ReadonlyArray<DiffLine> => {
  const [old, now] = [before.split("\n"), after.split("\n")]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const [middle, middleNow] = [old.slice(start, old.length - end), now.slice(start, now.length - end)]
  const same = (count: number) => Array.from({ length: count }, (): Kind => "same")
  const replaced = (): Array<Kind> => [...middle.map((): Kind => "removed"), ...middleNow.map((): Kind => "added")]
  const way = [...same(start), ...(shortestEdit(middle, middleNow) ?? replaced()), ...same(end)]
  let [x, y] = [0, 0]
  return way.map((kind) => {
    const text = kind === "added" ? now[y]! : old[x]!
    if (kind !== "added") x++
    if (kind !== "removed") y++
    return { kind, text, ...(kind !== "added" && { before: x }), ...(kind !== "removed" && { after: y }) }
  })
}

/** The lines that have changed, each with up to `context` others around it. None: the texts are the same. */
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
