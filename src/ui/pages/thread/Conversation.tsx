import { useEffect, useRef } from "react"
import { useLocation } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { Allowed } from "../../api/Access.ts"
import { api } from "../../api/Client.ts"
import { queries, useThreadRuns } from "../../api/Queries.ts"
import type { RunSummary, Thread } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { Notice } from "../../components/Notice.tsx"
import { MessageBox } from "../../components/run/MessageBox.tsx"
import { Turn } from "./Turn.tsx"

/** The thread's runs, one under the other, and a form for the next message. */
export const Conversation = ({ thread }: { readonly thread: Thread }) => {
  const query = useThreadRuns(thread)
  return (
    <Loaded query={query} lines={8}>
      {({ pages }) => {
        const runs = pages.flatMap(({ data }) => data)
        return (
          <>
            {query.hasNextPage && (
              <div>
                <Button pending={query.isFetchingNextPage} onPress={() => void query.fetchNextPage()}>
                  Show earlier runs
                </Button>
              </div>
            )}
            <ol className="turns" aria-label="Conversation, oldest first">
              {runs.toReversed().map((run) => (
                <Turn key={run.run_id} run={run} />
              ))}
            </ol>
            <Allowed needs="threads.reply">
              <NextMessage thread={thread} newest={runs[0]} />
            </Allowed>
          </>
        )
      }}
    </Loaded>
  )
}

const NextMessage = ({ thread, newest }: { readonly thread: Thread; readonly newest: RunSummary | undefined }) => {
  const [, navigate] = useLocation()
  const form = useRef<HTMLElement>(null)
  const id = newest?.run_id
  // A new run above the form must not move it out of sight while somebody writes.
  useEffect(() => {
    if (id !== undefined && form.current?.contains(document.activeElement)) {
      form.current.scrollIntoView({ block: "nearest" })
    }
  }, [id])
  const isOpen = thread.ended_at === undefined && newest !== undefined
  const isWorking = newest !== undefined && !isFinal(newest.status)
  const asks = isOpen && !isWorking ? newest.asks : undefined
  return (
    <section className="card stack tight" aria-label="Next message" ref={form}>
      <p role="status" className={asks || isWorking ? "small muted" : "sr-only"}>
        {isWorking ? "The agent has not answered yet." : asks ? "The agent asks a question." : "The run has ended."}
      </p>
      {!isOpen && (
        <Notice>
          This conversation has ended. A message begins another one with the same key, without the agent's session.
        </Notice>
      )}
      {isOpen ? (
        <MessageBox
          label={asks ? "Your reply" : "Message"}
          suggestions={asks ?? []}
          send={(message, headers) => api.threads.reply({ path: newest, query: {}, headers, payload: { message } })}
          onSent={() => void queries.invalidateQueries({ queryKey: ["thread-runs", thread.team, thread.id] })}
        />
      ) : (
        <MessageBox
          label="Message"
          send={async (message, headers) => {
            const payload = { message, thread: thread.key }
            const { message_id } = await api.teams.message({ path: thread, query: {}, headers, payload })
            return api.runs.show({ path: { run_id: message_id } })
          }}
          onSent={(run) => navigate(pathTo("thread", { thread_id: run.thread!.id }))}
        />
      )}
    </section>
  )
}
