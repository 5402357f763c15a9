/** Summaries of all rounds. */
import type { FigureName, Figures } from "./Measures.ts"

export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

export const spreadOf = (numbers: ReadonlyArray<number>): Spread | undefined => {
  if (numbers.length === 0) return undefined
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const median = sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return { median, least: sorted[0]!, most: sorted.at(-1)! }
}

const present = (numbers: ReadonlyArray<number | undefined>) => numbers.filter((number) => number !== undefined)

/** Of one figure, over all rounds. */
export const overRounds = (rounds: ReadonlyArray<Figures>, name: FigureName): Spread | undefined =>
  spreadOf(present(rounds.map((figures) => figures[name])))

/** The median of the ratios within each round: a slower machine slows down both sides. */
export const ratio = (
  rounds: ReadonlyArray<Figures>,
  base: ReadonlyArray<Figures> | undefined,
  name: FigureName
): number | undefined =>
  spreadOf(
    present(
      rounds.map((figures, round) => {
        const [value, of] = [figures[name], base?.[round]?.[name]]
        return value === undefined || of === undefined || of === 0 ? undefined : value / of
      })
    )
  )?.median
