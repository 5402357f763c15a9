import { useState } from "react"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import { plural } from "../../format/Format.ts"
import { Button } from "../Button.tsx"
import { ConfirmDialog } from "../ConfirmDialog.tsx"
import { toast, toastFailure } from "../Toasts.tsx"

/** How many runs wait to be sent, and how many failed ones to be tried again. */
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

/** Cancels everything that waits in the lane of a team, or for a webhook, and what would be tried again. */
export const CancelQueued = ({
  mayWait,
  of,
  cancel
}: {
  /** False: nothing waits, and there is nothing to press. */
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
      if (counts.cancelled + counts.retries === 0) toast("Nothing waits")
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
  // The dialog stays when the last one is sent meanwhile.
  if (!mayWait && waiting === undefined) return null
  return (
    <>
      <Button variant="danger" onPress={ask} pending={pending}>
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
            All runs {of} that wait to be sent will be cancelled, also those that arrive until you confirm
            {waiting.retries > 0 && ", and failed ones will not be tried again"}. What the team has already is not
            affected.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
