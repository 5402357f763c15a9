import type { ReactNode } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { cancellerNames } from "../../../domain/run/Canceller.ts"
import { requestText } from "../../../domain/run/RequestText.ts"
import { sizeText } from "../../../domain/run/Step.ts"
import { workspaceLine } from "../../../domain/run/WorkspaceLine.ts"
import type { Run } from "../../api/Types.ts"
import { CopyButton } from "../../components/CopyButton.tsx"
import { RunLinks } from "../../components/run/RunLinks.tsx"
import { threadName } from "../../components/run/ThreadName.ts"
import { UserText } from "../../components/UserText.tsx"
import { formatDollars, formatNumber, plural } from "../../format/Format.ts"
import { ExactTime } from "../../format/Time.tsx"
import { mount } from "../../frame/UiPath.ts"
import { ReplayOf } from "./RelatedRuns.tsx"
import { Timeline } from "./Timeline.tsx"

/** With a status other than these, the work of the run's agent was cancelled. */
const cancelledText: { readonly [status: string]: string } = { cancelled: "Cancelled", error: "Retry cancelled" }

/** The fate of the session of a run's conversation, if it did not simply go on. */
export const sessionNote = ({ history_given, session_lost }: Run): string | undefined => {
  if (session_lost === true) {
    const earlier = history_given ? " It got the earlier messages with the prompt." : ""
    return `The agent no longer had the session of this conversation and started a new one.${earlier}`
  }
  return history_given ? "The agent got the earlier messages of this conversation with the prompt." : undefined
}

/** The facts of a run besides its texts: its times, what the agent reported, and where it comes from. */
export const Facts = ({ run }: { readonly run: Run }) => {
  const { denied = [], session_id, usage } = run
  const note = sessionNote(run)
  return (
    <aside className="card stack run-facts" aria-label="Facts">
      <Timeline run={run} />
      {run.links !== undefined && run.links.length > 0 && (
        <section className="stack tight" aria-label="Links">
          <h2>Links</h2>
          <RunLinks run={run} />
        </section>
      )}
      {run.files !== undefined && (
        <section className="stack tight" aria-label="Files">
          <h2>Files</h2>
          <ul>
            {run.files.map(({ id, missing, name, size }) => (
              <li key={id}>
                {size === undefined ? (
                  <UserText>{name}</UserText>
                ) : (
                  <a href={`${mount}/api/runs/${run.run_id}/files/${id}`} download={name}>
                    <UserText>{name}</UserText>
                  </a>
                )}{" "}
                <span className="muted small">
                  {id.startsWith("in-") ? "from the request" : "from the agent"}
                  {size !== undefined
                    ? `, ${sizeText(size)}`
                    : missing !== undefined
                      ? `. ${missing}`
                      : ", not fetched"}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {denied.length > 0 && (
        <p className="small">
          The agent asked for permissions that it did not get: <UserText>{[...new Set(denied)].join(", ")}</UserText>.
          The options of its leader say what it may do.
        </p>
      )}
      {note !== undefined && <p className="small">{note}</p>}
      <dl className="fact-list">
        <Fact name="Agent settings">{run.agent !== undefined && <UserText>{requestText(run.agent)}</UserText>}</Fact>
        <Fact name="Changes">{run.workspace !== undefined && <UserText>{workspaceLine(run.workspace)}</UserText>}</Fact>
        <Fact name="Model">{usage?.model !== undefined && <UserText>{usage.model}</UserText>}</Fact>
        <Fact name="Cost">{usage?.cost_usd !== undefined && formatDollars(usage.cost_usd)}</Fact>
        <Tokens name="Input tokens" count={usage?.input_tokens} />
        <Tokens name="Cached input tokens" count={usage?.cached_input_tokens} />
        <Tokens name="Output tokens" count={usage?.output_tokens} />
        <Fact name="Team">
          <Link to={pathTo("team", run)}>{run.team}</Link>
        </Fact>
        <Fact name="Conversation">
          {run.thread !== undefined && (
            <Link to={pathTo("thread", { thread_id: run.thread.id })}>
              <bdi>{threadName(run.thread)}</bdi>
            </Link>
          )}
        </Fact>
        <Fact name="Mode">{run.mode === "wait" ? "synchronous" : "asynchronous"}</Fact>
        <Fact name="Template">
          {run.webhook_id !== undefined && run.webhook_version !== undefined && (
            <Link to={`${pathTo("templates", { id: run.webhook_id })}?version=${run.webhook_version}`}>
              version {run.webhook_version}
            </Link>
          )}
        </Fact>
        <Fact name="Callback to">
          {run.callback_url !== undefined && <bdi className="mono">{run.callback_url}</bdi>}
        </Fact>
        <Fact name="Session">{session_id !== undefined && <Id text={session_id} what="the session id" />}</Fact>
        <Fact name="Run">
          <Id text={run.run_id} what="the run id" />
        </Fact>
      </dl>
      <p className="small muted run-origin">
        <ReplayOf run={run} />
        <Joined run={run} />
        {run.chained_from !== undefined && (
          <span>
            Started when <Link to={pathTo("run", { run_id: run.chained_from })}>another run</Link> ended
          </span>
        )}
        {run.cancelled_by !== undefined && (
          <span>
            {cancelledText[run.status] ?? "Agent stopped"} by{" "}
            {run.superseded_by === undefined ? (
              cancellerNames[run.cancelled_by]
            ) : (
              <Link to={pathTo("run", { run_id: run.superseded_by })}>{cancellerNames[run.cancelled_by]}</Link>
            )}
          </span>
        )}
        {run.decided_by !== undefined && (
          <span>
            {run.cancelled_by === "denied" ? "Denied" : "Approved"} by <UserText>{run.decided_by}</UserText>
          </span>
        )}
      </p>
    </aside>
  )
}

/** Absent if there is nothing to say. */
const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) =>
  children === undefined || children === false ? null : (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )

const Tokens = ({ name, count }: { readonly name: string; readonly count: number | undefined }) => (
  <Fact name={name}>{count !== undefined && formatNumber(count)}</Fact>
)

const Id = ({ text, what }: { readonly text: string; readonly what: string }) => (
  <span className="row">
    <span className="mono run-id small">
      <UserText>{text}</UserText>
    </span>
    <CopyButton text={text} what={what} />
  </span>
)

/** How many requests joined the run, and until when more can join. */
const Joined = ({ run: { held_for, held_until, joined } }: { readonly run: Run }) => {
  const until = held_for === "window" ? held_until : undefined
  if (joined === undefined || (joined === 0 && until === undefined)) return null
  return (
    <span>
      {until !== undefined && (
        <>
          Collecting requests until <ExactTime at={until} />;{" "}
        </>
      )}
      {plural(joined, "more request")} combined
    </span>
  )
}
