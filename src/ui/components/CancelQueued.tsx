import { useState } from "react"
import { queries, runAction } from "../api/Queries.ts"
import { Button } from "./Button.tsx"
import { ConfirmDialog } from "./ConfirmDialog.tsx"
import { plural } from "./Format.ts"
import { toast } from "./Toasts.tsx"

/** Cancels everything that waits in the lane of a team, or for a webhook. Nothing while nothing waits. */
export const CancelQueued = ({
  queued,
  of,
  cancel
}: {
  readonly queued: number
  /** Whose runs they are, as in "of the team deploy". */
  readonly of: string
  readonly cancel: () => Promise<{ readonly cancelled: number }>
}) => {
  const [confirming, setConfirming] = useState(false)
  const run = async () => {
    const { cancelled } = await runAction(cancel)
    setConfirming(false)
    await queries.invalidateQueries()
    toast(`${plural(cancelled, "run")} cancelled`)
  }
  // The dialog stays when the last one is sent meanwhile.
  if (queued === 0 && !confirming) return null
  return (
    <>
      <Button variant="danger" onPress={() => setConfirming(true)}>
        Cancel queued
      </Button>
      {confirming && (
        <ConfirmDialog
          title={`Cancel ${plural(queued, "queued run")}?`}
          action="Cancel them"
          cancel="Keep them"
          onConfirm={run}
          onClose={() => setConfirming(false)}
        >
          <p>
            All runs {of} that wait to be sent will be cancelled, also those that arrive until you confirm. What the
            team has already is not affected.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
