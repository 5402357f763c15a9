import { type FormEvent, useState } from "react"
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components"
import { Link, useLocation } from "wouter"
import { api } from "../api/Client.ts"
import { act, queries, useServer, useTeam, useTeamRuns, useWebhooks } from "../api/Queries.ts"
import type { Run, Team } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { Confirm } from "../components/Confirm.tsx"
import { Code } from "../components/Copy.tsx"
import { Field } from "../components/Field.tsx"
import { Failure, Note } from "../components/Note.tsx"
import { Loaded, Page } from "../components/Page.tsx"
import { Running, Status } from "../components/Status.tsx"
import { Named, plain } from "../components/Text.tsx"
import { Ago, Exact } from "../components/Time.tsx"
import { say } from "../components/Toasts.tsx"
import { leaderSnippets } from "./LeaderSnippets.ts"

const TeamPage = ({ team: name }: { readonly team: string }) => {
  const team = useTeam(name)
  return (
    <Page title={name} back={{ to: "/teams", text: "Teams" }} actions={team.data && <Remove team={team.data} />}>
      <Loaded from={team}>{(data) => <Body team={data} />}</Loaded>
    </Page>
  )
}

const Body = ({ team }: { readonly team: Team }) => (
  <>
    <section className="card" aria-label="State">
      <dl className="facts">
        <div>
          <dt>State</dt>
          <dd>
            <Running team={team} />
          </dd>
        </div>
        <div>
          <dt>Leaders connected</dt>
          <dd className="big">{team.consumers}</dd>
        </div>
        <div>
          <dt>Waiting</dt>
          <dd className="big">{team.queued}</dd>
        </div>
        <div>
          <dt>Created</dt>
          <dd>
            <Exact at={team.created_at} />
          </dd>
        </div>
      </dl>
    </section>
    {!team.running && (
      <Note kind="warn">
        Nobody takes this team's prompts at the moment, so triggers get 409. Connect a leader in one of the ways below.
      </Note>
    )}
    <div className="side-by-side">
      <Chat team={team} />
      <Lane team={team} />
    </div>
    <Connect team={team} />
  </>
)

const Chat = ({ team }: { readonly team: Team }) => {
  const [text, setText] = useState("")
  const [pending, setPending] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() === "" || pending) return
    setPending(true)
    setFailure(undefined)
    try {
      await act(api.teams.message({ path: { team: team.team }, query: {}, payload: { message: text } }))
      setText("")
      say("Sent; it waits its turn")
      await queries.invalidateQueries({ queryKey: ["team-runs", team.team] })
    } catch (error) {
      setFailure(error)
    } finally {
      setPending(false)
    }
  }
  return (
    <section className="card" aria-label="Write to the team">
      <h2>Write to the team</h2>
      <form className="stack" onSubmit={submit}>
        <Field
          area
          rows={3}
          label="Message"
          hideLabel
          placeholder="What is the state of the release?"
          value={text}
          onChange={setText}
          help="It takes its place behind what was accepted before it, and is answered in that order."
        />
        {failure !== undefined && <Failure error={failure} />}
        <div>
          <Button type="submit" look="primary" pending={pending}>
            Send
          </Button>
        </div>
      </form>
    </section>
  )
}

/** What the team was asked, by webhooks and in chat, newest first, each with its answer. */
const Lane = ({ team }: { readonly team: Team }) => {
  const runs = useTeamRuns(team.team)
  const webhooks = useWebhooks()
  const [shown, setShown] = useState(6)
  return (
    <section className="card" aria-label="Asked lately">
      <h2>Asked lately, by webhooks and here</h2>
      <Loaded from={runs}>
        {(all) =>
          all.length === 0 ? (
            <p className="muted">Nothing yet.</p>
          ) : (
            <div className="stack">
              <ul className="talk" aria-label="Newest first">
                {all.slice(0, shown).map((run) => (
                  <Exchange
                    key={run.run_id}
                    run={run}
                    webhook={webhooks.data?.find((webhook) => webhook.id === run.webhook_id)?.name}
                  />
                ))}
              </ul>
              {all.length > shown && (
                <div>
                  <Button onPress={() => setShown(shown + 12)}>Show more</Button>
                </div>
              )}
            </div>
          )
        }
      </Loaded>
    </section>
  )
}

const Exchange = ({ run, webhook }: { readonly run: Run; readonly webhook: string | undefined }) => (
  <li>
    <div className="row between small">
      <span className="row">
        <Status of={run.status} />
        <span className="muted">{run.source === "chat" ? "Chat" : <Named>{webhook ?? "Webhook"}</Named>}</span>
      </span>
      <span className="row muted">
        <Ago at={run.accepted_at} />
        <Link to={`/runs/${run.run_id}`}>Open</Link>
      </span>
    </div>
    <p className="talk-line" dir="auto">
      {plain(run.conversation.prompt.slice(0, 500))}
    </p>
    {(run.conversation.response ?? run.error?.message) !== undefined && (
      <p className="talk-line talk-answer" dir="auto">
        {plain((run.conversation.response ?? run.error?.message ?? "").slice(0, 500))}
      </p>
    )}
  </li>
)

const Connect = ({ team }: { readonly team: Team }) => {
  const server = useServer()
  return (
    <section className="card stack" aria-label="How to connect a leader">
      <h2>How to connect a leader</h2>
      <p className="muted small">
        The leader consumes the queue <code>team.{team.team}</code>, one prompt at a time, and answers each to the queue{" "}
        <code>webhook.replies</code> under the prompt's correlation id.
      </p>
      {server.data?.bus === "embedded" && (
        <Note>
          This server runs on its embedded bus, which leaders outside its process cannot reach. Set{" "}
          <code>AMQP_URL</code> to a RabbitMQ to connect your own.
        </Note>
      )}
      <Tabs className="tabs">
        <TabList aria-label="Ways to connect" className="tab-list">
          {leaderSnippets(team.team).map(({ id, title }) => (
            <Tab key={id} id={id} className="tab">
              {title}
            </Tab>
          ))}
        </TabList>
        {leaderSnippets(team.team).map(({ id, title, hint, text }) => (
          <TabPanel key={id} id={id} className="stack tight">
            {hint && <p className="muted small">{hint}</p>}
            <Code text={text} title={title} />
          </TabPanel>
        ))}
      </Tabs>
    </section>
  )
}

const Remove = ({ team }: { readonly team: Team }) => {
  const [asking, setAsking] = useState(false)
  const [, navigate] = useLocation()
  return (
    <>
      <Button look="danger" onPress={() => setAsking(true)}>
        Delete team
      </Button>
      {asking && (
        <Confirm
          title="Delete this team?"
          action="Delete"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await act(api.teams.delete({ path: { team: team.team } }))
            navigate("/teams")
            await queries.invalidateQueries({ queryKey: ["teams"] })
            say(`Team ${team.team} is deleted`)
          }}
        >
          <p>
            <strong>{team.team}</strong> and its chat messages are removed. This works only while no webhook points at
            it and nothing waits for it.
          </p>
        </Confirm>
      )}
    </>
  )
}

export default TeamPage
