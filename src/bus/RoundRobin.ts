/**
 * The order of replies: one after the other in each team, teams in parallel. Long replies are handled apart from short ones,
 * in rounds with one reply of each team. So a long reply delays only its own team.
 */

/** A reply on its way. Replies without a team count as one team. */
export interface Item {
  readonly team?: string
  readonly isLong: boolean
}

export interface RoundRobin<A extends Item> {
  /** Passes a short reply on, or keeps it until a long one of its team is done. */
  readonly arrived: (item: A) => void
  /** The long replies of the next round, at most one of each team; the replies before them are done. */
  readonly next: () => ReadonlyArray<A>
  /** The reply was handled, or needs no handling: the next ones of its team may follow. */
  readonly done: (item: A) => void
}

interface Line<A> {
  /** A long reply and those after it. */
  readonly waiting: Array<A>
  /** How many short replies were passed on and are not done. */
  passed: number
  isHandlingLong: boolean
}

/** `pass` takes the next short reply. `ready` is called when `next` may return replies. */
export const make = <A extends Item>(pass: (item: A) => void, ready: () => void): RoundRobin<A> => {
  const lines = new Map<string, Line<A>>()

  const advance = (team: string, line: Line<A>): void => {
    while (!line.isHandlingLong && line.waiting[0]?.isLong === false) {
      line.passed++
      pass(line.waiting.shift()!)
    }
    if (line.isHandlingLong || line.passed > 0) return
    if (line.waiting.length > 0) ready()
    else lines.delete(team)
  }

  return {
    arrived: (item) => {
      const team = item.team ?? ""
      const line = lines.get(team) ?? { waiting: [], passed: 0, isHandlingLong: false }
      lines.set(team, line)
      line.waiting.push(item)
      if (line.waiting.length === 1) advance(team, line)
    },
    next: () =>
      Array.from(lines.values()).flatMap((line) => {
        if (line.isHandlingLong || line.passed > 0 || line.waiting[0]?.isLong !== true) return []
        line.isHandlingLong = true
        return [line.waiting.shift()!]
      }),
    done: (item) => {
      const team = item.team ?? ""
      const line = lines.get(team)
      if (line === undefined) return
      if (item.isLong) line.isHandlingLong = false
      else line.passed--
      advance(team, line)
    }
  }
}
