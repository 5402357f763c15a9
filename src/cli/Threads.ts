import { Effect } from "effect"
import { pageSize } from "../api/PageSize.ts"
import type { Thread } from "../domain/Thread.ts"
import { derived, group } from "./Command.ts"
import { fields, listText, section, time, timeAndAge } from "./Output.ts"

const stateOf = ({ ended_at }: Thread): string => (ended_at === undefined ? "open" : `ended ${time(ended_at)}`)

const describe = (thread: Thread) =>
  fields({
    ...{ thread: thread.id, key: thread.key, team: thread.team, state: stateOf(thread), session: thread.session_id },
    created: timeAndAge(thread.created_at),
    "last run": timeAndAge(thread.last_run_at)
  })

export const threads = group("thread", "Conversations with teams: runs that share an agent's session.", [
  derived("list", "threads.list", {
    text: listText<Thread>(
      { KEY: "key", STATE: stateOf, CREATED: "created_at", "LAST RUN": "last_run_at", THREAD: "id" },
      "No threads.",
      "Older threads"
    )
  }),
  derived("show", "threads.show", {
    about: "Show a conversation: the thread, and its last 20 prompts and answers in order",
    details: "For older runs, see run list --thread.",
    beside: (client, { id }) =>
      Effect.flatMap(client.runs.list({ query: { thread_id: id, limit: pageSize.default } }), ({ data }) =>
        Effect.forEach(data.toReversed(), ({ run_id }) => client.runs.show({ params: { run_id } }), { concurrency: 4 })
      ),
    text: (thread, _, runs) =>
      [
        describe(thread),
        ...runs.flatMap(({ accepted_at, conversation, error, run_id, status }) => [
          section(`${time(accepted_at)}  run ${run_id}`, conversation.prompt),
          section(status, conversation.response ?? error?.message ?? "")
        ])
      ].join("\n")
  }),
  derived("reset", "threads.reset", {
    ask: () => "Reset the thread? The next run with its key begins without the agent's session.",
    text: () => "The thread has ended. The next run with its key begins another one."
  })
])
