import { type ReactNode, useState } from "react"
import type { RunSummary } from "../../api/Types.ts"
import { plural } from "../../format/Format.ts"
import { Button } from "../Button.tsx"

const none: ReadonlySet<string> = new Set()

/** Rows that do not move under the pointer. New runs are announced above them. */
export const LiveRuns = ({
  runs,
  own = none,
  children
}: {
  readonly runs: ReadonlyArray<RunSummary>
  /** The ids of the user's own new runs, which are shown at once. */
  readonly own?: ReadonlySet<string>
  readonly children: (shown: ReadonlyArray<RunSummary>) => ReactNode
}) => {
  const { shown, fresh, hold, release } = useHeldRuns(runs, own)
  return (
    <div
      className="stack tight"
      role="group"
      aria-label="History"
      onPointerEnter={hold}
      onPointerLeave={release}
      onFocus={hold}
      onBlur={({ currentTarget, relatedTarget }) => !currentTarget.contains(relatedTarget) && release()}
    >
      <div role="status" className="new-runs">
        {fresh > 0 && (
          <Button compact onPress={release}>
            {fresh === runs.length ? `${fresh} or more new runs` : plural(fresh, "new run")}
          </Button>
        )}
      </div>
      {children(shown)}
    </div>
  )
}

/**
 * The runs to show. While the list has the pointer or the focus, rows stay in place. `fresh` counts the new runs, and
 * `release` shows them. The user's `own` new runs are shown at once, above the others.
 */
const useHeldRuns = (runs: ReadonlyArray<RunSummary>, own: ReadonlySet<string>) => {
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
