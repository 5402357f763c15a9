import { isFinal } from "../../../domain/run/RunStatus.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { RunSummary } from "../../api/Types.ts"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { toast } from "../../components/Toasts.tsx"
import { plural } from "../../format/Format.ts"

/** Those that can be cancelled: that have not ended, or have failed and would be tried again. */
export const cancellable = (runs: ReadonlyArray<RunSummary>): ReadonlyArray<RunSummary> =>
  runs.filter(({ retry_at, status }) => !isFinal(status) || retry_at !== undefined)

/** Asks, and cancels those of the runs that can be. */
export const CancelRuns = ({
  runs,
  onClose
}: {
  readonly runs: ReadonlyArray<RunSummary>
  readonly onClose: () => void
}) => {
  const live = cancellable(runs)
  const ended = runs.length - live.length
  const isRetried = live.some(({ retry_at }) => retry_at !== undefined)
  const cancel = async () => {
    const run_ids = live.map(({ run_id }) => run_id)
    // All may have ended while the question was open.
    const { cancelled } =
      run_ids.length === 0 ? { cancelled: 0 } : await runAction(() => api.runs.cancelSome({ payload: { run_ids } }))
    onClose()
    await queries.invalidateQueries()
    toast(`${plural(cancelled, "run")} cancelled`)
  }
  return (
    <ConfirmDialog
      title={`Cancel ${plural(live.length, "run")}?`}
      action="Cancel them"
      cancel="Keep them"
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>
        Those that wait will not be sent. Of those that a team has, the leader is asked to stop; what its agent has done
        already stays done.{isRetried && " Those that have failed will not be tried again."}
      </p>
      {ended > 0 && <p>{plural(ended, "run")} of those selected ended before, and will stay as it was.</p>}
    </ConfirmDialog>
  )
}
