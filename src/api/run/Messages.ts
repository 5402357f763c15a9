import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { RunId } from "../../domain/Id.ts"
import { AgentReport } from "../../domain/run/AgentReport.ts"
import { isStorable, unstorableDetail } from "../../domain/StorableText.ts"
import { ThreadKey } from "../../domain/Thread.ts"
import { optional } from "../../domain/Time.ts"

export const MessageText = Schema.String.pipe(
  Schema.minLength(1, { message: () => "must not be empty", description: "The text for the team's leader." }),
  Schema.filter(isStorable, { message: () => unstorableDetail })
)

export const Message = Schema.Struct({
  message: MessageText,
  thread: optional(
    ThreadKey.annotations({
      description:
        "The key of a thread, of up to 500 characters. The message continues the team's thread with this key, or begins it. By default it stands alone."
    })
  )
})

export const Reply = Schema.Struct({ message: MessageText })

const message_id = RunId.annotations({ description: "The message's id; it is stored like a run." })

export const MessageAccepted = Schema.Struct({
  status: Schema.Literal("accepted").annotations({ description: "What happened to the message." }),
  message_id
}).annotations({
  ...HttpApiSchema.annotations({ status: 202 }),
  description: "The message is stored and will be sent."
})
export const MessageAnswered = Schema.Struct({
  status: Schema.Literal("success").annotations({ description: "What happened to the message." }),
  response: Schema.String.annotations({ description: "The agent's answer." }),
  message_id,
  ...AgentReport.fields
}).annotations({ description: "The team has answered." })
