import { type FormEvent, useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { useThreads } from "../../api/Queries.ts"
import type { Thread } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { PageButtons } from "../../components/PageButtons.tsx"
import { threadName } from "../../components/run/ThreadName.ts"
import { RelativeTime } from "../../format/Time.tsx"
import { useUrlFilters } from "../../frame/UrlFilters.ts"
import { ThreadState } from "./ThreadState.tsx"

/** A team's threads. The key and the page are in the address. */
const ThreadsPage = ({ team }: { readonly team: string }) => {
  const filters = useUrlFilters()
  const [key, cursor] = [filters.get("key"), filters.get("cursor")]
  const threads = useThreads(team, { ...(key ? { key } : {}), ...(cursor ? { cursor } : {}) })
  return (
    <Page title={`Conversations of ${team}`} back={{ to: pathTo("team", { team }), text: `Team ${team}` }}>
      <FindKey key={key} value={key} onFind={(key) => filters.set({ key, cursor: "" })} />
      <Loaded query={threads}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? <NoThreads filtered={key !== "" || cursor !== ""} /> : <ThreadList threads={data} />}
            <PageButtons
              label="Pages of conversations"
              cursor={cursor}
              next={next_cursor}
              onChange={(cursor) => filters.set({ cursor })}
            />
          </>
        )}
      </Loaded>
    </Page>
  )
}

const FindKey = ({ value, onFind }: { readonly value: string; readonly onFind: (key: string) => void }) => {
  const [text, setText] = useState(value)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onFind(text.trim())
  }
  return (
    <search>
      <form className="row" onSubmit={submit}>
        <div className="grow">
          <TextField
            label="Key"
            hideLabel
            type="search"
            placeholder="Find a key, such as acme/shop#12"
            value={text}
            onChange={setText}
            maxLength={500}
          />
        </div>
        <Button type="submit">Find</Button>
        {value !== "" && (
          <Button variant="quiet" onPress={() => onFind("")}>
            Show all
          </Button>
        )}
      </form>
    </search>
  )
}

const ThreadList = ({ threads }: { readonly threads: ReadonlyArray<Thread> }) => (
  <ul className="card teams" aria-label="Conversations, newest run first">
    {threads.map((thread) => (
      <li key={thread.id}>
        <Link to={pathTo("thread", { thread_id: thread.id })} className="team">
          <strong>
            <bdi>{threadName(thread)}</bdi>
          </strong>
          <ThreadState thread={thread} />
          <span className="small muted">
            begun <RelativeTime at={thread.created_at} />, last run <RelativeTime at={thread.last_run_at} />
          </span>
        </Link>
      </li>
    ))}
  </ul>
)

const NoThreads = ({ filtered }: { readonly filtered: boolean }) => (
  <div className="card empty">
    {filtered ? (
      <p>No conversation has this key.</p>
    ) : (
      <>
        <h2>No conversations yet</h2>
        <p>
          The runs of a conversation continue one session of the agent. Give a webhook a conversation key, send a
          message with one, or reply to a run.
        </p>
      </>
    )}
  </div>
)

export default ThreadsPage
