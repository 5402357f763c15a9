import { lazy, Suspense, useState } from "react"
import { Link } from "wouter"
import { isFinal, useRun, useTeams, useWebhook } from "../api/Queries.ts"
import type { Run } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { Copy } from "../components/Copy.tsx"
import { Note } from "../components/Note.tsx"
import { Loaded, Loading, Page } from "../components/Page.tsx"
import { Raw } from "../components/Raw.tsx"
import { SendTest } from "../components/SendTest.tsx"
import { Status } from "../components/Status.tsx"
import { Named, plain } from "../components/Text.tsx"
import { Timeline } from "../components/Timeline.tsx"

const Markdown = lazy(() => import("../components/Markdown.tsx"))

const RunPage = ({ run_id }: { readonly run_id: string }) => {
  const run = useRun(run_id)
  const data = run.data
  const webhook = useWebhook(data?.webhook_id)
  const back = data?.webhook_id
    ? { to: `/webhooks/${data.webhook_id}`, text: plain(webhook.data?.name ?? "Webhook") }
    : data
      ? { to: `/teams/${data.team}`, text: `Team ${data.team}` }
      : { to: "/webhooks", text: "Webhooks" }
  return (
    <Page
      title={data?.source === "chat" ? "Chat message" : "Run"}
      heading={
        <span className="row">
          {data?.source === "chat" ? "Chat message" : "Run"} {data && <Status of={data.status} />}
        </span>
      }
      back={back}
    >
      <Loaded from={run} lines={8}>
        {(loaded) => <Body run={loaded} />}
      </Loaded>
    </Page>
  )
}

const Body = ({ run }: { readonly run: Run }) => (
  <>
    <Origin run={run} />
    <section className="card" aria-label="What happened when">
      <Timeline run={run} />
    </section>
    <Ending run={run} />
    {run.conversation.response !== undefined && (
      <Answer text={run.conversation.response} late={run.status === "timeout"} />
    )}
    <section className="card stack tight" aria-label="Prompt">
      <h2>The prompt the team got</h2>
      <Raw text={run.conversation.prompt} title="Prompt" what="the prompt" />
    </section>
    {run.source === "webhook" && <Values run={run} />}
    {run.webhook_id && <Repeat webhook_id={run.webhook_id} run={run} />}
  </>
)

const Origin = ({ run }: { readonly run: Run }) => {
  return (
    <p className="row small muted">
      <span>
        To <Link to={`/teams/${run.team}`}>{run.team}</Link>,{" "}
        {run.mode === "wait" ? "and the caller waited for the answer" : "fire and forget"}
      </span>
      <span className="row">
        <span className="mono run-id">{run.run_id}</span>
        <Copy text={run.run_id} what="the run's id" />
      </span>
    </p>
  )
}

const advice = {
  agent_error:
    "The team's leader reported this itself. Its own log says more; mend the cause, then repeat the run below.",
  team_gone: "The team's queue was deleted while the run was under way. Connect a leader again, then repeat the run.",
  undeliverable:
    "The broker gave the prompt up: it was delivered too often without an answer, or was rejected. See whether the leader crashes on this prompt.",
  cancelled: "Somebody stopped it. Repeat it below if it is still wanted."
}

/** How it ended, where that is not plain from an answer, and what to do about it. */
const Ending = ({ run }: { readonly run: Run }) => {
  const teams = useTeams()
  const running = teams.data?.find((team) => team.team === run.team)?.running
  if (run.error) {
    return (
      <Note kind="error">
        <p>
          <strong>{run.error.code}</strong>
        </p>
        <pre className="error-text">{plain(run.error.message.slice(0, 20_000))}</pre>
        <p className="muted small">{advice[run.error.code]}</p>
      </Note>
    )
  }
  if (run.status === "timeout") {
    return (
      <Note kind="warn">
        <p>No answer came in time.</p>
        <p className="muted small">
          {run.sent_at === undefined
            ? "It was never sent: no slot and no turn in the team's lane came up before the deadline. Raise the timeout, the limit, or the number of teams."
            : "The team got it and did not answer before the deadline. Raise the webhook's timeout if such work takes longer; an answer that still comes is kept here."}
        </p>
      </Note>
    )
  }
  if (!isFinal(run.status) && running === false) {
    return (
      <Note kind="warn">
        No leader of <Link to={`/teams/${run.team}`}>{run.team}</Link> is connected, so nobody is working on this. It
        goes on when one is.
      </Note>
    )
  }
  return null
}

const Answer = ({ text, late }: { readonly text: string; readonly late: boolean }) => {
  const [raw, setRaw] = useState(false)
  return (
    <section className="card stack tight" aria-label="Answer">
      <div className="row between">
        <h2>{late ? "The answer, which came too late" : "The answer"}</h2>
        <Button compact look="quiet" onPress={() => setRaw(!raw)}>
          {raw ? "Show formatted" : "Show raw"}
        </Button>
      </div>
      {raw ? (
        <Raw text={text} title="Answer, as it came" what="the answer" />
      ) : text.trim() === "" ? (
        <p className="muted">The answer is empty.</p>
      ) : (
        <Suspense fallback={<Loading lines={3} />}>
          <Markdown text={text} />
        </Suspense>
      )}
    </section>
  )
}

const Values = ({ run }: { readonly run: Run }) => {
  const entries = Object.entries(run.variables)
  return (
    <section className="card stack tight" aria-label="Variables">
      <h2>Variables</h2>
      {entries.length === 0 ? (
        <p className="muted small">None were sent.</p>
      ) : (
        <dl className="values">
          {entries.map(([name, value]) => (
            <div key={name}>
              <dt className="mono">
                <Named>{name}</Named>
              </dt>
              <dd dir="auto" className={typeof value === "string" ? "" : "mono"}>
                {plain((typeof value === "string" ? value : JSON.stringify(value, null, 2)).slice(0, 20_000))}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
}

const Repeat = ({ webhook_id, run }: { readonly webhook_id: string; readonly run: Run }) => {
  const webhook = useWebhook(webhook_id)
  const teams = useTeams()
  if (!webhook.data) return null
  return (
    <section className="card" aria-label="Repeat">
      <h2>Repeat it, with the same or other values</h2>
      <SendTest
        webhook={webhook.data}
        team={teams.data?.find((team) => team.team === webhook.data.team)}
        values={run.variables}
        mode={run.mode}
        action="Repeat"
      />
    </section>
  )
}

export default RunPage
