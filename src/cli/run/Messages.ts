/** Chat messages, and replies to the agents' questions. */
import { Effect } from "effect"
import { derived, type Leaf, type Texts } from "../Command.ts"
import { acceptedText, answerText } from "../Output.ts"
import { sayHowToReply } from "./Outcome.ts"

type Sending = "teams.message" | "threads.reply"

/** A command that sends a message, and perhaps waits for the answer. */
export const messageCommand = (name: string, endpoint: Sending, texts: Partial<Texts>): Leaf =>
  derived(name, endpoint, {
    ...texts,
    text: (sent) => (sent.status === "accepted" ? acceptedText(sent.message_id) : answerText(sent.response)),
    after: (sent, { connection }) =>
      sent.status === "success" && !connection.json
        ? sayHowToReply({ run_id: sent.message_id, asks: sent.asks })
        : Effect.void
  })
