import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { Team } from "../../api/Types.ts"
import { ExactTime } from "../../format/Time.tsx"
import { Notice } from "../Notice.tsx"

/** By `when_team_stopped`. */
const outcomes: { readonly [word: string]: string } = {
  refuse: "rejected (409)",
  queue: "queued until one connects",
  ignore: "ignored (200)"
}

/** The effect on requests while the team is paused, rests or has no leader. */
export const TeamNotice = ({
  team,
  when_team_stopped
}: {
  readonly team: Team
  readonly when_team_stopped: string | undefined
}) => {
  const link = <Link to={pathTo("team", team)}>{team.team}</Link>
  if (team.paused_at !== undefined) {
    return <Notice tone="warning">The team {link} is paused. Requests are queued until it is resumed.</Notice>
  }
  if (team.resting_until !== undefined) {
    return (
      <Notice tone="warning">
        The agent of {link} has reached a usage limit. Requests are queued until <ExactTime at={team.resting_until} />.
      </Notice>
    )
  }
  if (team.running) return null
  return (
    <Notice tone="warning">
      No leader is connected to {link}. Requests are {outcomes[when_team_stopped ?? "refuse"]}. The team's page shows
      how to connect one.
    </Notice>
  )
}
