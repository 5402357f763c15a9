import { useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { titleOf } from "../../../domain/run/RunTitle.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction, useRun } from "../../api/Queries.ts"
import type { Team } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { Notice } from "../../components/Notice.tsx"
import { toast } from "../../components/Toasts.tsx"
import { UserText } from "../../components/UserText.tsx"
import { plural } from "../../format/Format.ts"
import { ExactTime, RelativeTime } from "../../format/Time.tsx"

type Work = NonNullable<Team["at_work"]>[number]

/** The run that holds the team, and ended runs whose agents may still work. */
export const AtWork = ({ team: { at_work = [], team } }: { readonly team: Team }) => {
  if (at_work.length === 0) return null
  const isHeld = at_work.some(({ released_at, status }) => isFinal(status) && released_at === undefined)
  return (
    <Notice tone={at_work.some(({ status }) => isFinal(status)) ? "warning" : "neutral"}>
      {at_work.map((work) => (
        <p key={work.run_id}>
          <WorkLink run_id={work.run_id} /> since <ExactTime at={work.since} /> (
          <RelativeTime at={work.since} />
          ). <EndOf work={work} />
        </p>
      ))}
      {isHeld && <ReleaseTeam team={team} />}
    </Notice>
  )
}

const WorkLink = ({ run_id }: Pick<Work, "run_id">) => {
  const { data } = useRun(run_id)
  return (
    <Link to={pathTo("run", { run_id })}>
      <UserText>{data ? titleOf(data) : `Run ${run_id}`}</UserText>
    </Link>
  )
}

const EndOf = ({ work: { released_at, stop_at } }: { readonly work: Work }) => {
  if (released_at !== undefined) {
    return (
      <>
        It has ended, and its leader did not confirm that the agent has stopped. The agent may still work. The team was
        released at <ExactTime at={released_at} />.
      </>
    )
  }
  if (stop_at === undefined) return null
  return (
    <>
      It has ended, but its agent still works, and the team waits for it. The leader is told to stop at{" "}
      <ExactTime at={stop_at} />, and has 30 seconds then to confirm that.
    </>
  )
}

const ReleaseTeam = ({ team }: Pick<Team, "team">) => {
  const [confirming, setConfirming] = useState(false)
  const release = async () => {
    const { released } = await runAction(() => api.teams.release({ path: { team } }))
    setConfirming(false)
    await queries.invalidateQueries({ queryKey: ["teams"] })
    toast(`${plural(released.length, "run")} released`)
  }
  return (
    <>
      <Button needs="teams.release" compact onPress={() => setConfirming(true)}>
        Release team
      </Button>
      {confirming && (
        <ConfirmDialog
          title="Release the team?"
          action="Release"
          onConfirm={release}
          onClose={() => setConfirming(false)}
        >
          <p>
            The leader is told to stop, and the team gets its next prompt at once. An agent that does not stop then
            works beside the next one.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
