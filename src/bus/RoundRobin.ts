/**
 * The order of replies: one after the other for each team, and teams beside each other. A long reply is handled apart from
 * the short ones, one of each team in turn, so that it delays its own team's replies only.
 */

/** A reply on its way. Teams are told apart by their names; those without one count as one team. */
export interface Item {
  readonly team?: string
  readonly isLong: boolean
}

export interface Turns<A extends Item> {
  /** Passes a short reply on, or keeps it behind a long one of its team. */
  readonly arrived: (item: A) => void
  /** The long replies whose turn it is, at most one of each team; those before them are done. */
  readonly next: () => ReadonlyArray<A>
  /** The reply was handled, or needs no handling: those behind it may follow. */
  readonly done: (item: A) => void
}

interface Line<A> {
  /** A long one, and what came after it. */
  readonly waiting: Array<A>
  /** Short ones that were passed on and are not done. */
  passed: number
  isLongAtWork: boolean
}

/** @param pass takes the next short reply. @param ready is called when `next` may have something. */
export const make = <A extends Item>(pass: (item: A) => void, ready: () => void): Turns<A> => {
  const lines = new Map<string, Line<A>>()

  const advance = (team: string, line: Line<A>): void => {
    while (!line.isLongAtWork && line.waiting[0]?.isLong === false) {
      line.passed++
      pass(line.waiting.shift()!)
    }
    if (line.isLongAtWork || line.passed > 0) return
    if (line.waiting.length > 0) ready()
    else lines.delete(team)
  }

  return {
    arrived: (item) => {
      const team = item.team ?? ""
      const line = lines.get(team) ?? { waiting: [], passed: 0, isLongAtWork: false }
      lines.set(team, line)
      line.waiting.push(item)
      if (line.waiting.length === 1) advance(team, line)
    },
    next: () =>
      Array.from(lines.values()).flatMap((line) => {
        if (line.isLongAtWork || line.passed > 0 || line.waiting[0]?.isLong !== true) return []
        line.isLongAtWork = true
        return [line.waiting.shift()!]
      }),
    done: (item) => {
      const team = item.team ?? ""
      const line = lines.get(team)
      if (line === undefined) return
      if (item.isLong) line.isLongAtWork = false
      else line.passed--
      advance(team, line)
    }
  }
}
