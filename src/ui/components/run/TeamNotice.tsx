import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { Team } from "../../api/Types.ts"
import { Notice } from "../Notice.tsx"

/** What a webhook's triggers come to while its team is paused, or has no leader; nothing while it works. */
export const TeamNotice = ({
  team,
  when_team_stopped
}: {
  readonly team: Team
  readonly when_team_stopped: string | undefined
}) => {
  const link = <Link to={pathTo("team", team)}>{team.team}</Link>
  if (team.paused_at !== undefined) {
    return <Notice tone="warning">The team {link} is paused, so triggers wait until it is resumed.</Notice>
  }
  if (team.running) return null
  return (
    <Notice tone="warning">
      No leader of {link} is connected, so triggers {when_team_stopped === "queue" ? "wait for one" : "get 409"}. The
      team's page shows how to connect one.
    </Notice>
  )
}
