/** How to reply, when an agent's answer is a question. */
import { Effect } from "effect"
import { quoted } from "../completion/Tree.ts"
import { printable, printError } from "../Output.ts"

interface Answered {
  readonly run_id: string
  readonly asks?: ReadonlyArray<string> | undefined
}

/** For people, on standard error: a command for each suggested reply. */
export const sayHowToReply = ({ asks, run_id }: Answered): Effect.Effect<void> => {
  if (asks === undefined) return Effect.void
  const replies = asks.length === 0 ? ["…"] : [...new Set(asks)]
  const lines = replies.map((reply) => `  webhook-trigger run reply ${run_id} ${quoted(printable(reply))}`)
  return printError(["The agent asks a question. Reply with:", ...lines].join("\n"))
}
