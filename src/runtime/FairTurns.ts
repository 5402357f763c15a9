/**
 * Turns for work that is held up by others' hosts and takes memory. Each team has one turn of its own, whatever the others do.
 * Teams that want more share the rest, and the team that waited longest is next.
 */
import { Effect } from "effect"

interface FairTurns {
  /** Does the work when it is the team's turn. Work of one team begins in order. */
  readonly inTurn: (team: string) => <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

interface Lane {
  busy: number
  readonly waiting: Set<() => void>
  /** The number of the shared turn that it was given last; 0: none yet. */
  turn: number
}

/** `each`: of a team at most. `shared`: in all, beyond the first of each team. */
export const makeFairTurns = ({ each, shared }: { readonly each: number; readonly shared: number }): FairTurns => {
  /** Teams that work or wait. */
  const lanes = new Map<string, Lane>()
  let free = shared
  let turns = 0

  const mayBegin = ({ busy }: Lane) => busy === 0 || (busy < each && free > 0)
  const next = (lane: Lane) => {
    const [start] = lane.waiting
    if (start === undefined || !mayBegin(lane)) return
    lane.waiting.delete(start)
    if (lane.busy > 0) {
      free--
      lane.turn = ++turns
    }
    lane.busy++
    start()
  }
  const end = (team: string, lane: Lane) => {
    lane.busy--
    if (lane.busy > 0) free++
    if (lane.busy === 0) next(lane)
    for (const other of [...lanes.values()].sort((a, b) => a.turn - b.turn)) {
      if (free === 0) break
      next(other)
    }
    // The work begun above may be over by now, and the team may have another lane.
    if (lane.busy === 0 && lane.waiting.size === 0 && lanes.get(team) === lane) lanes.delete(team)
  }

  const laneOf = (team: string): Lane => {
    const lane = lanes.get(team) ?? { busy: 0, waiting: new Set(), turn: 0 }
    lanes.set(team, lane)
    return lane
  }

  return {
    inTurn: (team) => (work) =>
      Effect.uninterruptibleMask((restore) => {
        const lane = laneOf(team)
        let hasTurn = false
        let start = () => {}
        const turn = Effect.callback<void>((resume) => {
          start = () => {
            hasTurn = true
            resume(Effect.void)
          }
          lane.waiting.add(start)
          next(lane)
        })
        return Effect.ensuring(
          Effect.andThen(restore(turn), restore(work)),
          Effect.sync(() => {
            if (hasTurn) end(team, lane)
            else lane.waiting.delete(start)
          })
        )
      })
  }
}
