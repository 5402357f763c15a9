import type { ReactNode } from "react"
import type { RunSummary } from "../../api/Types.ts"
import { plural } from "../../format/Format.ts"
import { Button } from "../Button.tsx"
import { useHeldRuns } from "./HeldRuns.ts"

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
