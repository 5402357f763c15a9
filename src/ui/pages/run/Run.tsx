import { useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import * as Json from "../../../domain/Json.ts"
import { cancellerNames } from "../../../domain/run/Canceller.ts"
import { keptUntil } from "../../../domain/run/KeptRun.ts"
import { isCancellable, isFinal } from "../../../domain/run/RunStatus.ts"
import { useRun, useTeams, useWebhook } from "../../api/Queries.ts"
import type { Run, Webhook } from "../../api/Types.ts"
import { Button, LinkButton } from "../../components/Button.tsx"
import { CopyButton } from "../../components/CopyButton.tsx"
import { isGone, Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { RawText } from "../../components/RawText.tsx"
import { Answer } from "../../components/run/Answer.tsx"
import { LiveProgress } from "../../components/run/LiveProgress.tsx"
import { RunNotice } from "../../components/run/RunNotice.tsx"
import { SendTest } from "../../components/run/SendTest.tsx"
import { StatusBadge } from "../../components/run/Status.tsx"
import { threadName } from "../../components/run/ThreadName.ts"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"
import { plural } from "../../format/Format.ts"
import { ExactTime, formatTime } from "../../format/Time.tsx"
import { RunDeliveries } from "../destination/Deliveries.tsx"
import { OriginalRequest } from "./OriginalRequest.tsx"
import { Comparison, Neighbours, ReplayOf, Replays, useListOfRun } from "./RelatedRuns.tsx"
import { ReplyToRun } from "./ReplyToRun.tsx"
import { Report } from "./Report.tsx"
import { CancelRun, DownloadButton, ReplayMessage } from "./RunActions.tsx"
import { Timeline } from "./Timeline.tsx"

/** Of a run with another status, the work of its agent was cancelled. */
const cancelledText: { readonly [status: string]: string } = { cancelled: "Cancelled", error: "Retry cancelled" }

const RunPage = ({ run_id }: { readonly run_id: string }) => {
  const run = useRun(run_id)
  const data = run.data
  const webhook = useWebhook(data?.webhook_id)
  const list = useListOfRun()
  const [replaying, setReplaying] = useState(false)
  const [replying, setReplying] = useState(false)
  const name = data?.webhook_id
    ? showDirectionMarks(webhook.data?.name ?? "Webhook")
    : data
      ? `Message to ${data.team}`
      : "Run"
  const back = data?.webhook_id
    ? { to: pathTo("webhook", { id: data.webhook_id }), text: name }
    : data
      ? { to: pathTo("team", data), text: `Team ${data.team}` }
      : { to: pathTo("webhooks"), text: "Webhooks" }
  return (
    <Page
      title={data ? `${name}, ${formatTime(data.accepted_at)}` : name}
      heading={
        <span className="row">
          <bdi>{name}</bdi> {data && <StatusBadge run={data} />}
        </span>
      }
      back={back}
      actions={
        data &&
        !isGone(run) && (
          <Actions
            run={data}
            onReply={() => setReplying(!replying)}
            onReplay={
              data.source === "chat" || (webhook.data && !isGone(webhook)) ? () => setReplaying(!replaying) : undefined
            }
          />
        )
      }
    >
      <Loaded query={run} lines={8}>
        {(loaded) => (
          <>
            {list !== undefined && <Neighbours run_id={run_id} list={list} />}
            <Details run={loaded} />
            {replaying && loaded.source === "chat" && <ReplayMessage run={loaded} />}
            {replaying && webhook.data && <ReplayForm webhook={webhook.data} run={loaded} />}
            <Replays run={loaded} />
            <Content run={loaded} replying={replying} />
            {loaded.source === "webhook" && webhook.data && <OriginalRequest run={loaded} webhook={webhook.data} />}
            {loaded.source === "webhook" && <Values run={loaded} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}

const Actions = ({
  run,
  onReply,
  onReplay
}: {
  readonly run: Run
  readonly onReply: () => void
  readonly onReplay: (() => void) | undefined
}) => {
  const answer = run.conversation.response
  return (
    <>
      {answer !== undefined && (
        <>
          <CopyButton text={answer} what="the answer" caption="Copy the answer" compact={false} />
          <DownloadButton text={answer} file={`answer-${run.run_id}.md`}>
            Download
          </DownloadButton>
        </>
      )}
      {isCancellable(run) && <CancelRun run={run} />}
      {run.thread !== undefined ? (
        <LinkButton to={pathTo("thread", { thread_id: run.thread.id })}>Conversation</LinkButton>
      ) : (
        isFinal(run.status) &&
        run.asks === undefined && (
          <Button needs="threads.reply" onPress={onReply}>
            Reply
          </Button>
        )
      )}
      {onReplay && (
        <Button needs="runs.replay" variant="primary" icon="play" onPress={onReplay}>
          Replay
        </Button>
      )}
    </>
  )
}

const howAgain = ({ retry_at, source }: Run): string => {
  if (retry_at !== undefined) return "wait for the next attempt"
  return `replay the ${source === "chat" ? "message" : "run"}`
}

const Content = ({ run, replying }: { readonly run: Run; readonly replying: boolean }) => (
  <>
    <section className="card" aria-label="Progress">
      <Timeline run={run} />
    </section>
    {run.status === "running" && (
      <div className="card">
        <LiveProgress run_id={run.run_id} heading="h2" />
      </div>
    )}
    <RunNotice run={run} again={howAgain(run)} />
    {run.conversation.response !== undefined && <Answer text={run.conversation.response} run={run} />}
    <ReplyToRun run={run} wanted={replying} />
    <Report run={run} />
    {run.replay_of !== undefined && <Comparison run={run} original={run.replay_of} />}
    {isFinal(run.status) && <RunDeliveries run={run} />}
    <section className="card stack tight" aria-label="Prompt">
      <h2>Rendered prompt</h2>
      <RawText text={run.conversation.prompt} title="Prompt" what="the prompt" />
    </section>
  </>
)

const Details = ({ run }: { readonly run: Run }) => (
  <p className="row small muted">
    <span>
      <ExactTime at={run.accepted_at} />, team <Link to={pathTo("team", run)}>{run.team}</Link>,{" "}
      {run.mode === "wait" ? "synchronous" : "asynchronous"}
      {run.webhook_id !== undefined && run.webhook_version !== undefined && (
        <>
          , webhook{" "}
          <Link to={`${pathTo("templates", { id: run.webhook_id })}?version=${run.webhook_version}`}>
            version {run.webhook_version}
          </Link>
        </>
      )}
    </span>
    {run.thread !== undefined && (
      <span>
        Thread <Link to={pathTo("thread", { thread_id: run.thread.id })}>{<bdi>{threadName(run.thread)}</bdi>}</Link>
      </span>
    )}
    <ReplayOf run={run} />
    <Joined run={run} />
    {run.chained_from !== undefined && (
      <span>
        Started when <Link to={pathTo("run", { run_id: run.chained_from })}>another run</Link> ended
      </span>
    )}
    {run.callback_url !== undefined && (
      <span>
        Callback to <bdi className="mono">{run.callback_url}</bdi>
      </span>
    )}
    {run.cancelled_by !== undefined && (
      <span>
        {cancelledText[run.status] ?? "Agent stopped"} by {cancellerNames[run.cancelled_by]}
      </span>
    )}
    <span className="row">
      <span className="mono run-id">{run.run_id}</span>
      <CopyButton text={run.run_id} what="the run id" />
    </span>
  </p>
)

/** How many requests joined the run, and until when more can join. None can join the run of a paused webhook. */
const Joined = ({ run: { collecting_until, joined, status } }: { readonly run: Run }) =>
  joined === undefined || (collecting_until === keptUntil && status === "queued") ? null : (
    <span>
      {status === "queued" && collecting_until !== undefined && (
        <>
          Collecting requests until <ExactTime at={collecting_until} />;{" "}
        </>
      )}
      {plural(joined, "more request")} combined
    </span>
  )

const Values = ({ run }: { readonly run: Run }) => {
  const entries = Object.entries(run.variables)
  return (
    <section className="card stack tight" aria-label="Variables">
      <h2>Variables</h2>
      {entries.length === 0 ? (
        <p className="muted small">No variables were sent.</p>
      ) : (
        <dl className="values">
          {entries.map(([name, value]) => (
            <div key={name}>
              <dt className="mono">
                <UserText>{name}</UserText>
              </dt>
              <dd dir="auto" className={typeof value === "string" ? "" : "mono"}>
                {showDirectionMarks((typeof value === "string" ? value : Json.stringify(value, 2)).slice(0, 20_000))}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
}

const ReplayForm = ({ webhook, run }: { readonly webhook: Webhook; readonly run: Run }) => {
  const teams = useTeams()
  return (
    <section className="card" aria-label="Replay">
      <h2>Replay, optionally with new values</h2>
      <SendTest webhook={webhook} team={teams.data?.find((team) => team.team === webhook.team)} replayOf={run} />
    </section>
  )
}

export default RunPage
