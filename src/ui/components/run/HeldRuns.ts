import { useState } from "react"
import type { RunSummary } from "../../api/Types.ts"

/**
 * The runs to show. While the list has the pointer or the focus, rows stay in place. `fresh` counts the new runs, and
 * `release` shows them. The user's `own` new runs are shown at once, above the others.
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
