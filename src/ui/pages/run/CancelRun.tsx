import { useState } from "react"
import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"

/** For a run that has not ended, or that is to be tried again. */
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
      <Button variant="danger" onPress={() => setConfirming(true)}>
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
              ? "The run has failed, and will not be tried again."
              : run.sent_at === undefined
                ? "Its prompt will not be sent to the team."
                : "The team has its prompt, and its leader is asked to stop. What the agent has done already stays done."}
            {run.mode === "wait" && " The caller, who waits for the answer, is told."}
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
