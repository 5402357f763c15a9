import { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { MessageAccepted, MessageAnswered, Reply } from "../../api/run/Messages.ts"
import { adminOptions, call, show } from "../Connection.ts"
import { about } from "../Help.ts"
import { acceptedText, answerText } from "../Output.ts"
import { validated } from "../Validated.ts"
import { failUnsuccessful, wait } from "./Outcome.ts"
import { sayHowToReply } from "./Question.ts"
import { findRun, runArgument } from "./RunRef.ts"

const text = Argument.String({ name: "text" }).pipe(
  Argument.withDescription("The message to the run's agent"),
  Argument.mapTryCatch(...validated("<text>", Reply.fields.message))
)

export const reply = Command.make("reply", { id: runArgument, text, wait, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const sent = yield* call(
      options,
      (client) =>
        Effect.flatMap(findRun(client, options.id), (run_id) =>
          client.threads
            .reply({
              path: { run_id },
              urlParams: { wait: options.wait },
              headers: {},
              payload: { message: options.text }
            })
            .pipe(Effect.catch(failUnsuccessful))
        ),
      `No run has the id ${JSON.stringify(options.id)}, or its team was deleted; see webhook-trigger run list`
    )
    yield* show(options, Schema.Union([MessageAccepted, MessageAnswered]), sent, (sent) =>
      sent.status === "accepted" ? acceptedText(sent.message_id) : answerText(sent.response)
    )
    if (sent.status === "success" && !options.json) yield* sayHowToReply({ run_id: sent.message_id, asks: sent.asks })
  })
).pipe(
  Command.withDescription(
    about("Reply to a run, such as to a question: the agent continues its session once the run has ended", {
      details: "The reply belongs to the run's thread. A run without a thread begins one.",
      examples: [
        "webhook-trigger run reply last 'Yes, merge it'",
        "webhook-trigger run reply 01890a5d-ac96-774b-bcce-b302099a8057 'Yes, merge it' --wait"
      ]
    })
  )
)
