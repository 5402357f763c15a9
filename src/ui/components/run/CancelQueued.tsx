import { useState } from "react"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import { plural } from "../../format/Format.ts"
import { Button } from "../Button.tsx"
import { ConfirmDialog } from "../ConfirmDialog.tsx"
import { toast, toastFailure } from "../Toasts.tsx"

/** How many runs are queued, and how many retries are pending. */
interface Counts {
  readonly cancelled: number
  readonly retries: number
}

const runs = (count: number, kind = "") => plural(count, `${kind}run`)
const retries = (count: number) => plural(count, "retry", "retries")

/** As in "3 runs and 1 retry". */
const text = (counts: Counts, kind?: string) =>
  counts.retries === 0
    ? runs(counts.cancelled, kind)
    : counts.cancelled === 0
      ? retries(counts.retries)
      : `${runs(counts.cancelled, kind)} and ${retries(counts.retries)}`

/** Cancels all queued runs and pending retries of a team or a webhook. */
export const CancelQueued = ({
  mayWait,
  of,
  cancel
}: {
  /** False hides the button. */
  readonly mayWait: boolean
  /** Whose runs they are, as in "of the team deploy". */
  readonly of: string
  readonly cancel: (query: { readonly dry_run?: "true" }) => Promise<Counts>
}) => {
  const [waiting, setWaiting] = useState<Counts>()
  const [pending, setPending] = useState(false)
  const ask = async () => {
    setPending(true)
    try {
      const counts = await runAction(() => cancel({ dry_run: "true" }))
      if (counts.cancelled + counts.retries === 0) toast("Nothing is queued")
      else setWaiting(counts)
    } catch (error) {
      toastFailure(explain(error).title)
    } finally {
      setPending(false)
    }
  }
  const run = async () => {
    const counts = await runAction(() => cancel({}))
    setWaiting(undefined)
    await queries.invalidateQueries()
    toast(`${text(counts)} cancelled`)
  }
  // The dialog stays open if the last run is sent in the meantime.
  if (!mayWait && waiting === undefined) return null
  return (
    <>
      <Button needs="runs.cancel" variant="danger" onPress={ask} pending={pending}>
        Cancel queued
      </Button>
      {waiting && (
        <ConfirmDialog
          title={`Cancel ${text(waiting, "queued ")}?`}
          action="Cancel them"
          cancel="Keep them"
          onConfirm={run}
          onClose={() => setWaiting(undefined)}
        >
          <p>
            All queued runs {of} will be cancelled, including any queued before you confirm
            {waiting.retries > 0 && ", and failed runs will not be retried"}. Runs already sent to the team continue.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
