import { useState } from "react"
import { useLocation } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { Allowed, useMay } from "../../api/Access.ts"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction, useLeaderKeys, useServer, useTeam, useTeamRuns, useWebhooks } from "../../api/Queries.ts"
import type { Team } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { submitOnCtrlEnter, useMessageForm } from "../../components/form/KeyedAction.ts"
import { ThreadField } from "../../components/form/RunFields.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { Guide } from "../../components/Guide.tsx"
import { isGone, Loaded, Loading } from "../../components/Loaded.tsx"
import { ErrorNotice, Notice } from "../../components/Notice.tsx"
import { Page } from "../../components/Page.tsx"
import { CancelQueued } from "../../components/run/CancelQueued.tsx"
import { TeamStatus } from "../../components/run/Status.tsx"
import { SnippetTabs } from "../../components/Snippets.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { UserText } from "../../components/UserText.tsx"
import { ExactTime } from "../../format/Time.tsx"
import { AtWork } from "./AtWork.tsx"
import { LeaderKeys } from "./LeaderKeys.tsx"
import { leaderSnippets } from "./LeaderSnippets.ts"
import { RecentRuns } from "./RecentRuns.tsx"

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
    {team.resting_until !== undefined && team.resting_since !== undefined && (
      <Notice tone="warning">
        <p>
          Resting since <ExactTime at={team.resting_since} />, until <ExactTime at={team.resting_until} />: the agent
          has reached a usage limit. Requests and messages are queued, and nothing is sent.
        </p>
        {team.resting_reason && (
          <p className="muted small">
            <UserText>{team.resting_reason}</UserText>
          </p>
        )}
        {team.paused_at === undefined && <ResumeNow team={team} />}
      </Notice>
    )}
    {!team.running && team.paused_at === undefined && team.resting_until === undefined && (
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
        {server.data?.bus === "embedded" ? (
          <>
            This server uses the embedded bus: it leads the team itself, or a leader in another process connects over
            HTTP. With <code>AMQP_URL</code>, leaders can use RabbitMQ.
          </>
        ) : (
          <>
            Over RabbitMQ, a leader consumes the queue <code>team.{team.team}</code>, one prompt at a time, and sends
            each answer to the exchange <code>webhook.replies</code> with the prompt's correlation id.
          </>
        )}{" "}
        <Guide page="use/agents.md">About agents</Guide>
      </p>
      {server.data && <SnippetTabs snippets={leaderSnippets(team.team, server.data)} label="Ways to connect" />}
    </section>
  )
}

/** Pauses the team, or resumes it. */
const useChange = (team: string, action: "pause" | "resume") => {
  const [pending, setPending] = useState(false)
  const change = async () => {
    setPending(true)
    try {
      await runAction(() => api.teams[action]({ path: { team } }))
      await queries.invalidateQueries({ queryKey: ["teams"] })
      toast(`Team ${team} ${action}d`)
    } catch (error) {
      toastFailure(explain(error).title)
    } finally {
      setPending(false)
    }
  }
  return { change, pending }
}

const ResumeNow = ({ team: { team } }: { readonly team: Team }) => {
  const { change, pending } = useChange(team, "resume")
  return (
    <Button needs="teams.pause" compact icon="play" pending={pending} onPress={() => void change()}>
      Resume now
    </Button>
  )
}

const PauseTeam = ({ team: { paused_at, team } }: { readonly team: Team }) => {
  const isPaused = paused_at !== undefined
  const { change, pending } = useChange(team, isPaused ? "resume" : "pause")
  return (
    <Button
      needs="teams.pause"
      compact
      icon={isPaused ? "play" : "pause"}
      pending={pending}
      onPress={() => void change()}
    >
      {isPaused ? "Resume" : "Pause"}
    </Button>
  )
}

/** A form for a chat message to the team. */
const SendMessage = ({ team }: { readonly team: Team }) => {
  const [thread, setThread] = useState("")
  const key = thread.trim()
  const { clear, edit, error, pending, renew, submit, text } = useMessageForm(
    "",
    (message, headers) =>
      api.teams.message({ path: team, query: {}, headers, payload: { message, ...(key && { thread: key }) } }),
    (_, sent) => {
      clear(sent)
      toast("Message queued")
      void queries.invalidateQueries({ queryKey: ["team-runs", team.team] })
    }
  )
  return (
    <section className="card" aria-label="Send a message">
      <h2>Send a message</h2>
      <form className="stack" onSubmit={submit} onKeyDown={submitOnCtrlEnter}>
        <TextField
          multiline
          rows={3}
          label="Message"
          hideLabel
          placeholder="What is the status of the release?"
          value={text}
          onChange={edit}
          help="The team handles messages and runs in order."
        />
        <ThreadField
          value={thread}
          onChange={(thread) => {
            setThread(thread)
            renew()
          }}
          help="The key of a conversation to begin or to continue, such as acme/shop#12"
        />
        {error !== undefined && <ErrorNotice error={error} />}
        <div>
          <Button type="submit" variant="primary" pending={pending}>
            Send
          </Button>
        </div>
      </form>
    </section>
  )
}

const DeleteTeam = ({ team: { team } }: { readonly team: Team }) => {
  const [confirming, setConfirming] = useState(false)
  const [, navigate] = useLocation()
  const remove = async () => {
    await runAction(() => api.teams.delete({ path: { team } }))
    navigate(pathTo("teams"))
    await queries.invalidateQueries({ queryKey: ["teams"] })
    toast(`Team ${team} deleted`)
  }
  return (
    <>
      <Button needs="teams.delete" variant="danger" onPress={() => setConfirming(true)}>
        Delete team
      </Button>
      {confirming && (
        <ConfirmDialog
          title="Delete this team?"
          action="Delete"
          onClose={() => setConfirming(false)}
          onConfirm={remove}
        >
          <p>
            <strong>{team}</strong> and its chat messages will be deleted. This is possible only while no webhook uses
            the team and it has no unfinished work.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}

export default TeamPage
