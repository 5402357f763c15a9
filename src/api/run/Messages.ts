import { Schema } from "effect"
import { RunId } from "../../domain/Id.ts"
import { AgentReport } from "../../domain/run/AgentReport.ts"
import { isStorable, unstorableDetail } from "../../domain/StorableText.ts"
import { ThreadKey } from "../../domain/Thread.ts"
import { optional } from "../../domain/Time.ts"

export const MessageText = Schema.String.check(
  Schema.isMinLength(1, { message: "must not be empty" }),
  Schema.makeFilter((text) => isStorable(text) || unstorableDetail, { toJsonSchema: () => ({}) })
).annotate({ description: "The text for the team's leader." })

export const Message = Schema.Struct({
  message: MessageText,
  thread: optional(
    ThreadKey.annotate({
      description:
        "The key of a thread, of up to 500 characters. The message continues the team's thread with this key, or begins it. By default it stands alone."
    })
  )
})

export const Reply = Schema.Struct({ message: MessageText })

const message_id = RunId.annotate({ description: "The message's id; it is stored like a run." })

export const MessageAccepted = Schema.Struct({
  status: Schema.Literal("accepted").annotate({ description: "What happened to the message." }),
  message_id
}).annotate({
  httpApiStatus: 202,
  description: "The message is stored and will be sent."
})
export const MessageAnswered = Schema.Struct({
  status: Schema.Literal("success").annotate({ description: "What happened to the message." }),
  response: Schema.String.annotate({ description: "The agent's answer." }),
  message_id,
  ...AgentReport.fields
}).annotate({ description: "The team has answered." })
