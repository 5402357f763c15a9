import { type ReactNode, useState } from "react"
import { pathTo } from "../../../api/Pages.ts"
import * as Json from "../../../domain/Json.ts"
import { isCancellable, isFinal } from "../../../domain/run/RunStatus.ts"
import { titleOf } from "../../../domain/run/RunTitle.ts"
import { useRun, useSteps, useTeams, useWebhook } from "../../api/Queries.ts"
import type { Run, Webhook } from "../../api/Types.ts"
import { Button, LinkButton } from "../../components/Button.tsx"
import { CopyButton } from "../../components/CopyButton.tsx"
import { isGone, Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { RawText } from "../../components/RawText.tsx"
import { Answer } from "../../components/run/Answer.tsx"
import { Approval } from "../../components/run/Approval.tsx"
import { LiveProgress } from "../../components/run/LiveProgress.tsx"
import { ReplyToRun } from "../../components/run/ReplyToRun.tsx"
import { RunNotice } from "../../components/run/RunNotice.tsx"
import { SendTest } from "../../components/run/SendTest.tsx"
import { StatusBadge } from "../../components/run/Status.tsx"
import { Steps } from "../../components/run/Steps.tsx"
import { showDirectionMarks, UserText } from "../../components/UserText.tsx"
import { RunDeliveries } from "../destination/Deliveries.tsx"
import { Facts } from "./Facts.tsx"
import { OriginalRequest } from "./OriginalRequest.tsx"
import { Comparison, Neighbours, Replays, useListOfRun } from "./RelatedRuns.tsx"
import { CancelRun, DownloadButton, ReplayMessage } from "./RunActions.tsx"

const RunPage = ({ run_id }: { readonly run_id: string }) => {
  const run = useRun(run_id)
  const data = run.data
  const webhook = useWebhook(data?.webhook_id)
  const list = useListOfRun()
  const [replaying, setReplaying] = useState(false)
  const [replying, setReplying] = useState(false)
  const title = data ? showDirectionMarks(titleOf(data)) : "Run"
  const back = data?.webhook_id
    ? { to: pathTo("webhook", { id: data.webhook_id }), text: webhook.data?.name ?? "Webhook" }
    : data
      ? { to: pathTo("team", data), text: `Team ${data.team}` }
      : { to: pathTo("webhooks"), text: "Webhooks" }
  return (
    <Page
      title={title}
      heading={
        <span className="row run-title">
          <bdi>{title}</bdi> {data && <StatusBadge run={data} />}
        </span>
      }
      back={back}
      actions={
        data &&
        !isGone(run) && (
          <Actions
            run={data}
            main={isFailed(data) && !replaying && !replying}
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
            <div className="run-page">
              <div className="stack">
                {replaying && loaded.source === "chat" && <ReplayMessage run={loaded} />}
                {replaying && webhook.data && <ReplayForm webhook={webhook.data} run={loaded} />}
                <RunContent run={loaded} replying={replying} />
                <Replays run={loaded} />
                {isFinal(loaded.status) && <RunDeliveries run={loaded} />}
                <Input run={loaded} webhook={webhook.data} />
              </div>
              <Facts run={loaded} />
            </div>
            {loaded.replay_of !== undefined && <Comparison run={loaded} original={loaded.replay_of} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}

const Actions = ({
  run,
  main,
  onReply,
  onReplay
}: {
  readonly run: Run
  /** To replay it is what one does on this page. */
  readonly main: boolean
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
        <Button needs="runs.replay" {...(main && { variant: "primary" })} icon="play" onPress={onReplay}>
          Replay
        </Button>
      )}
    </>
  )
}

const isFailed = ({ status }: Run) => status === "error" || status === "timeout"

const howAgain = ({ retry_at, source }: Run): string => {
  if (retry_at !== undefined) return "wait for the next attempt"
  return `replay the ${source === "chat" ? "message" : "run"}`
}

/** The run's result, and anything in the way of it. */
export const RunContent = ({ run, replying }: { readonly run: Run; readonly replying: boolean }) => (
  <>
    <RunNotice run={run} again={howAgain(run)} />
    <Approval run={run} />
    {run.status === "running" && (
      <div className="card">
        <LiveProgress run_id={run.run_id} since={run.started_at} heading="h2" />
      </div>
    )}
    {run.conversation.response !== undefined && <Answer text={run.conversation.response} run={run} />}
    <ReplyToRun run={run} wanted={replying} />
  </>
)

/** The request. It is folded: people come for the answer. */
const Input = ({ run, webhook }: { readonly run: Run; readonly webhook: Webhook | undefined }) => (
  <div className="card folds">
    {isFinal(run.status) && <Did run={run} />}
    <Fold title={run.source === "chat" ? "Message" : "Rendered prompt"}>
      <RawText text={run.conversation.prompt} title="Prompt" what="the prompt" />
    </Fold>
    {run.source === "webhook" && (
      <>
        <Fold title="Variables">
          <Values run={run} />
        </Fold>
        {webhook && (
          <Fold title="Request">
            <OriginalRequest run={run} webhook={webhook} />
          </Fold>
        )}
      </>
    )}
  </div>
)

/** Open if a step of a failed run failed. */
const Did = ({ run }: { readonly run: Run }) => {
  const failed = isFailed(run)
  const { data } = useSteps(run.run_id, failed)
  const opened = failed && (data?.data.some(({ status }) => status === "failed") ?? false)
  return (
    <Fold key={String(opened)} title="What the agent did" opened={opened}>
      <RunSteps run={run} />
    </Fold>
  )
}

const RunSteps = ({ run }: { readonly run: Run }) => (
  <Loaded query={useSteps(run.run_id)} lines={4}>
    {({ data }) =>
      data.length === 0 ? (
        <p className="muted small">No steps were reported, or they are no longer kept.</p>
      ) : (
        <Steps steps={data} failed={isFailed(run)} />
      )
    }
  </Loaded>
)

const Fold = ({
  title,
  opened = false,
  children
}: {
  readonly title: string
  readonly opened?: boolean
  readonly children: ReactNode
}) => {
  const [open, setOpen] = useState(opened)
  return (
    <details className="fold" open={opened} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <h2>{title}</h2>
      </summary>
      {open && (
        <section className="fold-content stack tight" aria-label={title}>
          {children}
        </section>
      )}
    </details>
  )
}

const Values = ({ run }: { readonly run: Run }) => {
  const entries = Object.entries(run.variables)
  if (entries.length === 0) return <p className="muted small">No variables were sent.</p>
  return (
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
