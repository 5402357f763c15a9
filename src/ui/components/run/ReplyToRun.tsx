import { Link, useLocation } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { useMay } from "../../api/Access.ts"
import { api } from "../../api/Client.ts"
import { queries, useThread } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { UserText } from "../UserText.tsx"
import { MessageBox } from "./MessageBox.tsx"

/** Whether a reply can continue the agent's session. Of a thread, only the newest run is replied to here. */
const useCanReply = ({ accepted_at, status, thread }: Run): boolean => {
  const { data } = useThread(thread?.id)
  if (!isFinal(status)) return false
  return thread === undefined || (data?.ended_at === undefined && data?.last_run_at === accepted_at)
}

/** A form for a reply, if the agent asks a question or the user wants to reply. Then it shows the conversation. */
export const ReplyToRun = ({
  run,
  wanted = false,
  nested = false
}: {
  readonly run: Run
  readonly wanted?: boolean
  /** Inside another section. */
  readonly nested?: boolean
}) => (wanted || run.asks !== undefined ? <Reply run={run} nested={nested} /> : null)

const Reply = ({ run, nested }: { readonly run: Run; readonly nested: boolean }) => {
  const [, navigate] = useLocation()
  const canReply = useCanReply(run)
  const may = useMay()
  if (!canReply || !may("threads.reply")) return nested ? null : <Asked run={run} />
  const send = async (message: string, headers: { readonly "idempotency-key": string }) => {
    await api.threads.reply({ path: run, query: {}, headers, payload: { message } })
    return api.runs.show({ path: run })
  }
  const show = (replied: Run) => {
    queries.setQueryData(["run", run.run_id], replied)
    navigate(pathTo("thread", { thread_id: replied.thread!.id }))
  }
  const Title = nested ? "h3" : "h2"
  return (
    <section className={nested ? "stack tight" : "card stack tight"} aria-label="Reply">
      <Title>{run.asks ? "The agent asks a question" : "Reply"}</Title>
      <MessageBox
        label="Your reply"
        help="The agent continues its session."
        suggestions={run.asks ?? []}
        action="Reply"
        main={!nested}
        send={send}
        onSent={show}
      />
    </section>
  )
}

/** A question that somebody has replied to, or nobody can: its thread has ended. */
const Asked = ({ run: { asks, thread } }: { readonly run: Run }) =>
  asks === undefined || thread === undefined ? null : (
    <section className="card stack tight" aria-label="Question">
      <h2>The agent asks a question</h2>
      {asks.length > 0 && (
        <p>
          Suggested replies:{" "}
          {asks.map((reply, index) => (
            <span key={reply}>
              {index > 0 && ", "}
              <UserText>{reply}</UserText>
            </span>
          ))}
        </p>
      )}
      <p>
        <Link to={pathTo("thread", { thread_id: thread.id })}>Open the conversation</Link>
      </p>
    </section>
  )
