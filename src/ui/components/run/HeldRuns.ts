import { useState } from "react"
import type { RunSummary } from "../../api/Types.ts"

/**
 * The runs to show: while the user points at the list, or has the focus in it, rows stay where they are, and only change
 * in place. `fresh` counts those that have come since, and `release` shows them. Those of the user's `own` making are
 * shown at once, above the others.
 */
export const useHeldRuns = (runs: ReadonlyArray<RunSummary>, own: ReadonlySet<string>) => {
  const [held, setHeld] = useState<ReadonlyArray<string>>()
  const byId = new Map(runs.map((run) => [run.run_id, run]))
  const [known, setKnown] = useState(byId)
  const isHeld = held !== undefined
  const since = isHeld ? runs.filter(({ run_id }) => !held.includes(run_id)) : []
  const made = since.filter(({ run_id }) => own.has(run_id))
  return {
    shown: isHeld ? [...made, ...held.flatMap((id) => byId.get(id) ?? known.get(id) ?? [])] : runs,
    fresh: since.length - made.length,
    hold: () => {
      if (isHeld) return
      setHeld(runs.map(({ run_id }) => run_id))
      setKnown(byId)
    },
    release: () => setHeld(undefined)
  }
}
