import { useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction, useThread } from "../../api/Queries.ts"
import type { Thread } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { CopyButton } from "../../components/CopyButton.tsx"
import { isGone, Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { threadName } from "../../components/run/ThreadName.ts"
import { UserText } from "../../components/UserText.tsx"
import { ExactTime } from "../../format/Time.tsx"
import { Conversation } from "./Conversation.tsx"
import { ThreadState } from "./ThreadState.tsx"

/** A thread: all its runs, oldest first, and a form for the next message. */
const ThreadPage = ({ thread_id }: { readonly thread_id: string }) => {
  const thread = useThread(thread_id)
  const { data } = thread
  const name = data ? threadName(data) : "Conversation"
  return (
    <Page
      title={name}
      heading={
        <span className="row">
          <bdi>{name}</bdi> {data && <ThreadState thread={data} />}
        </span>
      }
      back={
        data
          ? { to: pathTo("threads", data), text: `Conversations of ${data.team}` }
          : { to: pathTo("teams"), text: "Teams" }
      }
      actions={data && data.ended_at === undefined && !isGone(thread) && <ResetThread thread={data} />}
    >
      <Loaded query={thread} lines={8}>
        {(loaded) => (
          <>
            <Details thread={loaded} />
            <Conversation thread={loaded} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

const Details = ({ thread: { created_at, ended_at, id, session_id, team } }: { readonly thread: Thread }) => (
  <p className="row small muted">
    <span>
      Team <Link to={pathTo("team", { team })}>{team}</Link>, since <ExactTime at={created_at} />
      {ended_at !== undefined && (
        <>
          , ended <ExactTime at={ended_at} />
        </>
      )}
    </span>
    {session_id !== undefined && (
      <span className="row">
        <span>
          Session <span className="mono run-id">{<UserText>{session_id}</UserText>}</span>
        </span>
        <CopyButton text={session_id} what="the session id" />
      </span>
    )}
    <Link to={`${pathTo("runs")}?thread=${id}`}>All runs as a list</Link>
  </p>
)

/** Ends the thread after a confirmation. */
const ResetThread = ({ thread }: { readonly thread: Thread }) => {
  const [confirming, setConfirming] = useState(false)
  const reset = async () => {
    const ended = await runAction(() => api.threads.reset({ path: { thread_id: thread.id } }))
    queries.setQueryData(["thread", thread.id], ended)
    setConfirming(false)
  }
  return (
    <>
      <Button needs="threads.reset" onPress={() => setConfirming(true)}>
        Reset
      </Button>
      {confirming && (
        <ConfirmDialog
          title="Reset this conversation?"
          action="Reset conversation"
          cancel="Keep it"
          onConfirm={reset}
          onClose={() => setConfirming(false)}
        >
          <p>The conversation ends. The next run with its key begins another one, without the agent's session.</p>
          <p>Queued and running runs continue.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

export default ThreadPage
