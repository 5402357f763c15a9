import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import type { Now, Team, Webhook } from "../../api/Types.ts"
import { TeamStatus } from "../../components/run/Status.tsx"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"
import { formatNumber } from "../../format/Format.ts"
import { ElapsedTime } from "../../format/Time.tsx"

/** How many teams are shown: those with work, if there are more. */
const most = 12

type Work = Now["work"][number]

const byName = (a: Team, b: Team): number => (a.team < b.team ? -1 : 1)

/** Each team's current work. */
export const TeamTiles = ({
  teams,
  work,
  webhooks
}: {
  readonly teams: ReadonlyArray<Team>
  readonly work: ReadonlyArray<Work>
  readonly webhooks: ReadonlyArray<Webhook>
}) => {
  const workOf = ({ team }: Team) => work.find((each) => each.team === team)
  const isBusy = (team: Team) => Number(workOf(team) !== undefined || team.queued > 0)
  const shown = teams
    .toSorted((a, b) => isBusy(b) - isBusy(a))
    .slice(0, most)
    .toSorted(byName)
  return (
    <section className="stack tight" aria-label="Teams">
      <div className="row between">
        <h2>Teams</h2>
        {teams.length > most && (
          <Link className="small" to={pathTo("teams")}>
            All {formatNumber(teams.length)} teams
          </Link>
        )}
      </div>
      <ul className="team-tiles">
        {shown.map((team) => (
          <Tile
            key={team.team}
            team={team}
            work={workOf(team)}
            name={workOf(team)?.title ?? webhooks.find(({ id }) => id === workOf(team)?.webhook_id)?.name ?? "Chat"}
          />
        ))}
      </ul>
    </section>
  )
}

const Tile = ({
  team,
  work,
  name
}: {
  readonly team: Team
  readonly work: Work | undefined
  /** Its run's title, or the name of the run's webhook. */
  readonly name: string
}) => (
  <li className="card team-tile">
    <div className="row between">
      <Link to={pathTo("team", team)}>
        <strong>{team.team}</strong>
      </Link>
      <TeamStatus team={team} />
    </div>
    <p className={work?.activity === undefined ? "tile-line muted" : "tile-line mono"}>
      {work === undefined ? "Idle" : <bdi>{showDirectionMarks(work.activity ?? "Working")}</bdi>}
    </p>
    <p className="tile-facts small muted">
      {work !== undefined && (
        <>
          <Link className="tile-line" to={pathTo("run", work)}>
            <UserText>{name}</UserText>
          </Link>
          <span className="nowrap">
            <ElapsedTime since={work.since} />
          </span>
        </>
      )}
      {team.queued > 0 ? (
        <span className="nowrap">{formatNumber(team.queued)} waiting</span>
      ) : (
        work === undefined && "Nothing waits"
      )}
    </p>
  </li>
)
