import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Thread, ThreadKey } from "../domain/Thread.ts"
import { Admin } from "./access/Auth.ts"
import { described } from "./Endpoint.ts"
import { listFields } from "./List.ts"
import { Limit } from "./PageSize.ts"
import { BadGateway, BadRequest, bodyFaults, Conflict, NotFound, TooManyRequests } from "./Problem.ts"
import { MessageAccepted, MessageAnswered, Reply } from "./run/Messages.ts"
import { IdempotencyKey, TimedOut, TimedOutInPage, Wait } from "./run/RunAnswers.ts"

const ThreadPage = Schema.Struct(listFields(Thread, "Those with the newest runs first.")).annotate({
  identifier: "ThreadPage",
  description: "A page of a team's threads."
})

const path = Schema.Struct({ thread_id: Schema.String.annotate({ description: "The thread's id." }) })

export class Threads extends HttpApiGroup.make("threads")
  .add(
    HttpApiEndpoint.get("list", "/api/teams/:team/threads", {
      params: Schema.Struct({ team: Schema.String.annotate({ description: "The team's name." }) }),
      query: Schema.Struct({
        key: Schema.optional(ThreadKey.annotate({ description: "Only threads with this key." })),
        limit: Schema.optional(Limit),
        cursor: Schema.optional(
          Schema.String.annotate({ description: "`next_cursor` of the previous page, with the same key." })
        )
      }),
      success: ThreadPage,
      error: [BadRequest, NotFound]
    }).annotateMerge(
      described(
        "List a team's threads",
        "The team's conversations, in pages. Several can have the same key; at most one has not ended."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("show", "/api/threads/:thread_id", {
      params: path,
      success: Thread,
      error: NotFound
    }).annotateMerge(described("Show a thread", "One conversation. Its runs are those of `GET /api/runs?thread_id=…`."))
  )
  .add(
    HttpApiEndpoint.post("reset", "/api/threads/:thread_id/reset", {
      params: path,
      success: Thread,
      error: NotFound
    }).annotateMerge(
      described(
        "Reset a thread",
        "Ends the conversation: the next run with its key begins another thread, without a session. Its queued and running runs continue. Resetting a thread that has ended changes nothing."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("reply", "/api/runs/:run_id/reply", {
      params: Schema.Struct({ run_id: Schema.String.annotate({ description: "The run's id." }) }),
      query: Wait,
      headers: IdempotencyKey,
      payload: Reply,
      success: [MessageAccepted, MessageAnswered],
      error: [TimedOut, TimedOutInPage, ...bodyFaults, NotFound, Conflict, TooManyRequests, BadGateway]
    }).annotateMerge(
      described(
        "Reply to a run",
        "Sends a chat message to the run's team, in the run's thread, so that the agent continues its session. A run without a thread begins one, with its id as the key. A reply to a run at work waits until that has ended. If the thread has ended, the reply is refused. In everything else it is like a chat message to the team."
      )
    )
  )
  .middleware(Admin)
  .annotateMerge(OpenApi.annotations({ title: "Threads", description: "Conversations with teams." })) {}
