import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { pageSize } from "../api/PageSize.ts"
import { ThreadPage } from "../api/Threads.ts"
import { Thread, ThreadKey } from "../domain/Thread.ts"
import type { Group } from "./Commands.ts"
import { confirm, yes } from "./Confirm.ts"
import { adminOptions, call, show } from "./Connection.ts"
import { about } from "./Help.ts"
import { ago, fields, section, table, time, timeAndAge } from "./Output.ts"
import { teamArgument, teamNotFound } from "./TeamArgument.ts"
import { validated } from "./Validated.ts"

const key = Flag.String("key").pipe(
  Flag.withMetavar("key"),
  Flag.withDescription("Only threads with this key"),
  Flag.mapTryCatch(...validated("--key", ThreadKey)),
  Flag.optional
)
const cursor = Flag.String("cursor").pipe(
  Flag.withDescription("The previous page's `next_cursor`"),
  Flag.optional
)

const stateOf = ({ ended_at }: Thread): string => (ended_at === undefined ? "open" : `ended ${time(ended_at)}`)

const list = Command.make("list", { team: teamArgument, key, cursor, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const page = yield* call(
      options,
      (client) =>
        client.threads.list({
          path: { team: options.team },
          urlParams: { key: Option.getOrUndefined(options.key), cursor: Option.getOrUndefined(options.cursor) }
        }),
      teamNotFound(options.team)
    )
    yield* show(options, ThreadPage, page, ({ data, next_cursor }) =>
      [
        data.length === 0
          ? "No threads."
          : table(
              ["THREAD", "KEY", "STATE", "CREATED", "LAST RUN"],
              data.map((thread) => [
                ...[thread.id, thread.key, stateOf(thread)],
                ...[ago(thread.created_at), ago(thread.last_run_at)]
              ])
            ),
        ...(next_cursor === null ? [] : [`Older threads: --cursor ${next_cursor}`])
      ].join("\n\n")
    )
  })
).pipe(Command.withDescription("List a team's conversations, those with the newest runs first"))

const id = Argument.String({ name: "thread-id" }).pipe(
  Argument.withDescription("The thread's id, as `thread list` and `run show --json` show it")
)
const notFound = (id: string) => `No thread has the id ${JSON.stringify(id)}; see webhook-trigger thread list`

const describe = (thread: Thread) =>
  fields({
    thread: thread.id,
    key: thread.key,
    team: thread.team,
    state: stateOf(thread),
    session: thread.session_id,
    created: timeAndAge(thread.created_at),
    "last run": timeAndAge(thread.last_run_at)
  })

const showOne = Command.make("show", { id, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const { runs, thread } = yield* call(
      options,
      (client) =>
        Effect.gen(function* () {
          const thread = yield* client.threads.show({ path: { thread_id: options.id } })
          // The JSON output is the API's record, without runs.
          if (options.json) return { thread, runs: [] }
          const urlParams = { thread_id: thread.id, limit: pageSize.default }
          const { data } = yield* client.runs.list({ urlParams })
          const paths = data.toReversed().map(({ run_id }) => ({ path: { run_id } }))
          return { thread, runs: yield* Effect.forEach(paths, client.runs.show, { concurrency: 4 }) }
        }),
      notFound(options.id)
    )
    yield* show(options, Thread, thread, (thread) =>
      [
        describe(thread),
        ...runs.flatMap(({ accepted_at, conversation, error, run_id, status }) => [
          section(`${time(accepted_at)}  run ${run_id}`, conversation.prompt),
          section(status, conversation.response ?? error?.message ?? "")
        ])
      ].join("\n")
    )
  })
).pipe(
  Command.withDescription(
    about("Show a conversation: the thread, and its last 20 prompts and answers in order", {
      details: "For older runs, see run list --thread."
    })
  )
)

const reset = Command.make("reset", { id, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* confirm(options.yes, "Reset the thread? The next run with its key begins without the agent's session.")
    const thread = yield* call(
      options,
      (client) => client.threads.reset({ path: { thread_id: options.id } }),
      notFound(options.id)
    )
    yield* show(options, Thread, thread, () => "The thread has ended. The next run with its key begins another one.")
  })
).pipe(Command.withDescription("End a conversation: the next run with its key begins another one"))

export const threads: Group = {
  name: "thread",
  about: "Conversations with teams: runs that share an agent's session.",
  commands: [list, showOne, reset]
}
