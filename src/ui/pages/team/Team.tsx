import { pathTo } from "../../../api/Pages.ts"
import { Allowed, useMay } from "../../api/Access.ts"
import { api } from "../../api/Client.ts"
import { useLeaderKeys, useServer, useTeam, useTeamRuns, useWebhooks } from "../../api/Queries.ts"
import type { Team } from "../../api/Types.ts"
import { isGone, Loaded, Loading } from "../../components/Loaded.tsx"
import { Notice } from "../../components/Notice.tsx"
import { Page } from "../../components/Page.tsx"
import { CancelQueued } from "../../components/run/CancelQueued.tsx"
import { TeamStatus } from "../../components/run/Status.tsx"
import { SnippetTabs } from "../../components/SnippetTabs.tsx"
import { ExactTime } from "../../format/Time.tsx"
import { AtWork } from "./AtWork.tsx"
import { DeleteTeam } from "./DeleteTeam.tsx"
import { LeaderKeys } from "./LeaderKeys.tsx"
import { leaderSnippets } from "./LeaderSnippets.ts"
import { PauseTeam } from "./PauseTeam.tsx"
import { RecentRuns } from "./RecentRuns.tsx"
import { SendMessage } from "./SendMessage.tsx"

const TeamPage = ({ team: name }: { readonly team: string }) => {
  const team = useTeam(name)
  const mayListKeys = useMay()("leaderKeys.list")
  const keys = useLeaderKeys(name, mayListKeys)
  // All parts appear together, so nothing moves while loading.
  const parts = [team, useTeamRuns(name), useServer(), ...(mayListKeys ? [keys] : [])]
  const pending = parts.some(({ isPending }) => isPending)
  return (
    <Page
      title={name}
      back={{ to: pathTo("teams"), text: "Teams" }}
      actions={team.data && !pending && !isGone(team) && <DeleteTeam team={team.data} />}
    >
      <Loaded query={team}>{(data) => (pending ? <Loading /> : <Content team={data} />)}</Loaded>
    </Page>
  )
}

const Content = ({ team }: { readonly team: Team }) => (
  <>
    <Details team={team} />
    {team.paused_at !== undefined && (
      <Notice tone="warning">
        Paused since <ExactTime at={team.paused_at} />. Requests and messages are queued, and nothing is sent. Prompts
        already sent will finish.
      </Notice>
    )}
    {!team.running && team.paused_at === undefined && (
      <Notice tone="warning">
        No leader is connected. Requests are rejected (409), unless their webhook queues them. Connect a leader as shown
        below.
      </Notice>
    )}
    <AtWork team={team} />
    <div className="side-by-side">
      <Allowed needs="teams.message">
        <SendMessage team={team} />
      </Allowed>
      <RecentRuns team={team} />
    </div>
    <ConnectLeader team={team} />
    <Allowed needs="leaderKeys.list">
      <LeaderKeys key={team.team} team={team.team} />
    </Allowed>
  </>
)

const Details = ({ team }: { readonly team: Team }) => {
  const webhooks = useWebhooks()
  const mayRetry = webhooks.data?.some((webhook) => webhook.team === team.team && webhook.retries !== undefined)
  return (
    <section className="card" aria-label="State">
      <dl className="facts">
        <div>
          <dt>State</dt>
          <dd className="row">
            <TeamStatus team={team} />
            <PauseTeam team={team} />
          </dd>
        </div>
        <div>
          <dt>Connected leaders</dt>
          <dd className="big">{team.consumers}</dd>
        </div>
        <div>
          <dt>Queued</dt>
          <dd className="row">
            <span className="big">{team.queued}</span>
            <CancelQueued
              mayWait={team.queued > 0 || mayRetry === true}
              of={`of the team ${team.team}`}
              cancel={(query) => api.teams.cancelQueued({ path: team, query })}
            />
          </dd>
        </div>
        <div>
          <dt>Created</dt>
          <dd>
            <ExactTime at={team.created_at} />
          </dd>
        </div>
      </dl>
    </section>
  )
}

const ConnectLeader = ({ team }: { readonly team: Team }) => {
  const server = useServer()
  return (
    <section className="card stack" aria-label="How to connect a leader">
      <h2>How to connect a leader</h2>
      <p className="muted small">
        Over RabbitMQ, a leader consumes the queue <code>team.{team.team}</code>, one prompt at a time, and sends each
        answer to the exchange <code>webhook.replies</code> with the prompt's correlation id.
      </p>
      {server.data?.bus === "embedded" && (
        <Notice>
          This server uses the embedded bus. It can lead the team itself, or a leader in another process connects over
          HTTP with a leader key. To connect over RabbitMQ, set <code>AMQP_URL</code> first.
        </Notice>
      )}
      {server.data && (
        <SnippetTabs
          snippets={leaderSnippets(team.team, server.data.command, server.data.public_url)}
          label="Ways to connect"
        />
      )}
    </section>
  )
}

export default TeamPage
