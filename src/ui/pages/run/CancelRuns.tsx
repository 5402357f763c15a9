import { isCancellable } from "../../../domain/run/RunStatus.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { RunSummary } from "../../api/Types.ts"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { toast } from "../../components/Toasts.tsx"
import { plural } from "../../format/Format.ts"

/** The runs that can be cancelled: unfinished ones, failed ones with a pending retry, and ended ones whose agents work. */
export const cancellable = (runs: ReadonlyArray<RunSummary>): ReadonlyArray<RunSummary> => runs.filter(isCancellable)

/** As many as one request may name. */
const atOnce = 100

/** Cancels all cancellable runs after a confirmation. */
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
    let cancelled = 0
    // All may have ended while the dialog was open.
    for (let at = 0; at < run_ids.length; at += atOnce) {
      const payload = { run_ids: run_ids.slice(at, at + atOnce) }
      cancelled += (await runAction(() => api.runs.cancelSome({ payload }))).cancelled.length
    }
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
        Queued runs won't be sent. For runs in progress, the leader is asked to stop; work already done is not undone.
        {isRetried && " Failed runs won't be retried."}
      </p>
      {ended > 0 && <p>{plural(ended, "selected run")} already ended and won't change.</p>}
    </ConfirmDialog>
  )
}
