import { useState } from "react"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import { formatNumber, plural } from "../../format/Format.ts"
import { Button } from "../Button.tsx"
import { ConfirmDialog } from "../ConfirmDialog.tsx"
import { newActionKey } from "../form/KeyedAction.ts"
import { PromptChoice, type ReplayPrompt } from "../form/RunFields.tsx"
import { toast, toastFailure } from "../Toasts.tsx"

type Which = Parameters<typeof api.runs.replayMany>[0]["payload"]

/** The replay to confirm. Its key makes several clicks one action. */
interface Confirmation {
  readonly which: Which
  readonly matched: number
  readonly more: boolean
  readonly key: string
}

/** Replays runs after a confirmation. The caller renders `dialog`; `onDone` gets the new runs' ids. */
export const useReplayRuns = (onDone?: (made: ReadonlyArray<string>) => void) => {
  const [asked, setAsked] = useState<Confirmation>()
  const [pending, setPending] = useState(false)
  const [prompt, setPrompt] = useState<ReplayPrompt>("template")

  const ask = async (which: Which) => {
    setPending(true)
    try {
      // Excludes runs that arrive from now on.
      const now = new Date().toISOString()
      const bounded = which.run_ids === undefined && which.to === undefined ? { ...which, to: now } : which
      const { matched, more } = await runAction(() =>
        api.runs.replayMany({ headers: {}, payload: { ...bounded, dry_run: true } })
      )
      if (matched === 0) toast("No runs to replay: none match, or all were already replayed")
      else setAsked({ which: bounded, matched, more, key: newActionKey() })
    } catch (error) {
      toastFailure(explain(error).title)
    } finally {
      setPending(false)
    }
  }

  const replay = async ({ key, which }: Confirmation) => {
    const { refused, replayed } = await runAction(() =>
      api.runs.replayMany({ headers: { "idempotency-key": key }, payload: { ...which, prompt } })
    )
    setAsked(undefined)
    onDone?.(replayed.map(({ run_id }) => run_id))
    await queries.invalidateQueries()
    if (replayed.length > 0) toast(`${plural(replayed.length, "run")} replayed`)
    if (refused.length > 0) toastFailure(`${plural(refused.length, "run")} not replayed: ${refused[0]!.detail}`)
  }

  const dialog = asked && (
    <ConfirmDialog
      title={
        asked.more
          ? `Replay the oldest ${formatNumber(asked.matched)} runs?`
          : `Replay ${plural(asked.matched, "run")}?`
      }
      action="Replay"
      harmless
      onConfirm={() => replay(asked)}
      onClose={() => setAsked(undefined)}
    >
      <p>
        Each becomes a new run at the end of its team's queue, in the same order.
        {asked.more && " There are more; replay again for the next ones."}
      </p>
      <PromptChoice value={prompt} onChange={setPrompt} />
    </ConfirmDialog>
  )
  return { ask: (which: Which) => void ask(which), pending, dialog }
}

export const ReplayRuns = ({
  which,
  children = "Replay failed"
}: {
  /** The given runs, or all that match. */
  readonly which: Which
  readonly children?: string
}) => {
  const { ask, dialog, pending } = useReplayRuns()
  return (
    <>
      <Button needs="runs.replayMany" onPress={() => ask(which)} pending={pending}>
        {children}
      </Button>
      {dialog}
    </>
  )
}
