import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { mostCountedAhead } from "../../../domain/run/Ahead.ts"
import { useAhead, useStatistics } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { formatNumber, plural } from "../../format/Format.ts"
import { Notice } from "../Notice.tsx"

/** Why a run of a team with a leader has not been sent yet. */
export const Waiting = ({ run }: { readonly run: Run }) => {
  const { data } = useAhead(run.run_id)
  if (data === undefined) return null
  const { ahead } = data
  if (ahead > 0) {
    const more = ahead >= mostCountedAhead ? `At least ${formatNumber(ahead)} runs` : plural(ahead, "run")
    return (
      <Notice tone="neutral">
        Waiting in the queue of <Link to={pathTo("team", run)}>{run.team}</Link>: {more} ahead of this one.
      </Notice>
    )
  }
  return <NextInLine run={run} />
}

const NextInLine = ({ run }: { readonly run: Run }) =>
  run.webhook_id === undefined ? (
    <Notice tone="neutral">Next in the queue. Waiting for the team to finish earlier work.</Notice>
  ) : (
    <WaitingForSlot webhook_id={run.webhook_id} />
  )

const WaitingForSlot = ({ webhook_id }: { readonly webhook_id: string }) => {
  const { data } = useStatistics(webhook_id, "24h")
  if (data === undefined) return null
  return (
    <Notice tone="neutral">
      {data.slots_in_use >= data.limit ? (
        <>
          Next in the queue. Waiting for a slot of the <Link to={pathTo("webhook", { id: webhook_id })}>webhook</Link>:{" "}
          {formatNumber(data.slots_in_use)} of {formatNumber(data.limit)} in use.
        </>
      ) : (
        "Next in the queue. Waiting for the team to finish earlier work, or for a free slot of the server."
      )}
    </Notice>
  )
}
