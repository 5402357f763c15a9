import { useState } from "react"
import { Link, useLocation } from "wouter"
import { useTeams } from "../api/Queries.ts"
import { Button } from "../components/Button.tsx"
import { Loaded, Page } from "../components/Page.tsx"
import { Running } from "../components/Status.tsx"
import { plural } from "../components/Strip.tsx"
import { NewTeam } from "../components/TeamPicker.tsx"

const Teams = () => {
  const teams = useTeams()
  const [making, setMaking] = useState(false)
  const [, navigate] = useLocation()
  return (
    <Page
      title="Teams"
      actions={
        <Button look="primary" icon="plus" onPress={() => setMaking(true)}>
          New team
        </Button>
      }
    >
      <Loaded from={teams}>
        {(all) =>
          all.length === 0 ? (
            <div className="card empty">
              <h2>No teams yet</h2>
              <p>
                A team is whoever does the work: a program, called its leader, that takes prompts from the team's queue
                one at a time and answers. Give it a name here, then connect its leader.
              </p>
              <Button look="primary" icon="plus" onPress={() => setMaking(true)}>
                Create the first team
              </Button>
            </div>
          ) : (
            <ul className="card teams">
              {all.map((team) => (
                <li key={team.team}>
                  <Link to={`/teams/${team.team}`} className="team">
                    <strong>{team.team}</strong>
                    <Running team={team} />
                    <span className="small muted">{plural(team.consumers, "leader")} connected</span>
                    <span className="small muted">{team.queued} waiting</span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {making && <NewTeam onClose={() => setMaking(false)} onMade={(team) => navigate(`/teams/${team}`)} />}
    </Page>
  )
}

export default Teams
