import { useState } from "react"
import { Link, useLocation } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { useTeams } from "../../api/Queries.ts"
import { Button } from "../../components/Button.tsx"
import { NewTeamDialog } from "../../components/form/NewTeamDialog.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { TeamStatus } from "../../components/run/Status.tsx"
import { plural } from "../../format/Format.ts"

const Teams = () => {
  const teams = useTeams()
  const [creating, setCreating] = useState(false)
  const [, navigate] = useLocation()
  const create = () => setCreating(true)
  return (
    <Page
      title="Teams"
      actions={
        teams.data?.length !== 0 && (
          <Button needs="teams.create" variant="primary" icon="plus" onPress={create}>
            New team
          </Button>
        )
      }
    >
      <Loaded query={teams}>
        {(all) =>
          all.length === 0 ? (
            <NoTeams onCreate={create} />
          ) : (
            <ul className="card teams">
              {all.map((team) => (
                <li key={team.team}>
                  <Link to={pathTo("team", team)} className="team">
                    <strong>{team.team}</strong>
                    <TeamStatus team={team} />
                    <span className="small muted">{plural(team.consumers, "leader")} connected</span>
                    <span className="small muted">{team.queued} queued</span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {creating && (
        <NewTeamDialog onClose={() => setCreating(false)} onCreated={(team) => navigate(pathTo("team", { team }))} />
      )}
    </Page>
  )
}

const NoTeams = ({ onCreate }: { readonly onCreate: () => void }) => (
  <div className="card empty">
    <h2>No teams yet</h2>
    <p>
      A team does the work. A program called its leader takes prompts from the team's queue, one at a time, and answers
      them. Create the team here, then connect its leader.
    </p>
    <Button needs="teams.create" variant="primary" icon="plus" onPress={onCreate}>
      Create the first team
    </Button>
  </div>
)

export default Teams
