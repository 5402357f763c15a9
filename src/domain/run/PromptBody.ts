/** A prompt as leaders get it, on every bus. */
import { Schema } from "effect"
import { RunId, ThreadId, WebhookId } from "../Id.ts"
import { optional, time } from "../Time.ts"
import { SessionUsage } from "./AgentReport.ts"
import { AgentRequest } from "./AgentRequest.ts"
import { RunFile } from "./RunFile.ts"
import { RunSource } from "./RunSource.ts"

const text = (description: string) => Schema.String.annotate({ description })

/** An earlier run of a thread. */
export const ThreadTurn = Schema.Struct({ prompt: text("Its prompt."), response: text("Its answer.") })
export type ThreadTurn = typeof ThreadTurn.Type

export const PromptBody = Schema.Struct({
  run_id: RunId,
  source: RunSource,
  webhook: optional(
    Schema.Struct({ id: WebhookId, name: text("The webhook's name.") }).annotate({
      description: "Absent for a chat message."
    })
  ),
  prompt: text("The prompt: at most 256 KiB of UTF-8."),
  template: optional(text("What the prompt was made from. Absent for a chat message.")),
  values: optional(
    Schema.Record(Schema.String, Schema.String).annotate({
      description: "The inserted values by placeholder. They come from the caller."
    })
  ),
  agent: optional(AgentRequest),
  files: optional(
    Schema.Array(RunFile).annotate({
      description:
        "The files that came with the request, or that it named. The leader asks for their contents, except for those that are `missing`."
    })
  ),
  thread: optional(
    Schema.Struct({
      id: ThreadId,
      session_id: optional(text("The agent's session in which to continue.")),
      session_usage: optional(SessionUsage),
      history: optional(
        Schema.Array(ThreadTurn).annotate({
          description:
            "The thread's latest prompts and answers, oldest first, up to ten and 64 Ki characters; long ones are cut. Present if no answer has reported a session, or if the webhook has `thread_history`."
        })
      )
    }).annotate({ description: "The conversation that the prompt belongs to." })
  ),
  deadline: optional(time("Present if a caller waits. Afterwards, nobody needs the answer."))
})
export type PromptBody = typeof PromptBody.Type
