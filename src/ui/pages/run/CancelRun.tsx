import { useState } from "react"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"

/** For a run that `isCancellable`. */
export const CancelRun = ({ run }: { readonly run: Run }) => {
  const [confirming, setConfirming] = useState(false)
  const cancel = async () => {
    const cancelled = await runAction(() => api.runs.cancel({ path: { run_id: run.run_id } }))
    queries.setQueryData(["run", run.run_id], cancelled)
    setConfirming(false)
  }
  const what = run.retry_at !== undefined ? "retry" : run.source === "chat" ? "message" : "run"
  return (
    <>
      <Button needs="runs.cancel" variant="danger" onPress={() => setConfirming(true)}>
        Cancel {what}
      </Button>
      {confirming && (
        <ConfirmDialog
          title={`Cancel this ${what}?`}
          action={`Cancel ${what}`}
          cancel="Keep it"
          onConfirm={cancel}
          onClose={() => setConfirming(false)}
        >
          <p>
            {run.retry_at !== undefined
              ? "The run has failed and will not be retried."
              : run.sent_at === undefined
                ? "The prompt will not be sent to the team."
                : "The prompt was already sent, so the leader is asked to stop. Work already done is not undone."}
            {run.mode === "wait" && !isFinal(run.status) && " The waiting caller is notified."}
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
