import { useState } from "react"
import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Thread } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"

/** Ends the thread after a confirmation. */
export const ResetThread = ({ thread }: { readonly thread: Thread }) => {
  const [confirming, setConfirming] = useState(false)
  const reset = async () => {
    const ended = await runAction(() => api.threads.reset({ path: { thread_id: thread.id } }))
    queries.setQueryData(["thread", thread.id], ended)
    setConfirming(false)
  }
  return (
    <>
      <Button needs="threads.reset" onPress={() => setConfirming(true)}>
        Reset
      </Button>
      {confirming && (
        <ConfirmDialog
          title="Reset this thread?"
          action="Reset thread"
          cancel="Keep it"
          onConfirm={reset}
          onClose={() => setConfirming(false)}
        >
          <p>The thread ends. The next run with its key begins another one, without the agent's session.</p>
          <p>Queued and running runs continue.</p>
        </ConfirmDialog>
      )}
    </>
  )
}
