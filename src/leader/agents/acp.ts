import { Either } from "effect"
import type { Agent, Preset, Task } from "./Agent.ts"
import type { AcpOptions } from "./acp/Conversation.ts"
import { converse } from "./acp/Conversation.ts"
import { readAllowed } from "./acp/Permissions.ts"
import { takingOnly } from "./Bounds.ts"
import { readOptions } from "./Options.ts"
import * as SessionTotals from "./output/SessionTotals.ts"
import { anyId, inSession } from "./Session.ts"

const title = "an ACP agent"
const example = "acp --allow edit,execute opencode acp"

/** Agents of this protocol trim a prompt, and take one that begins with a slash for a command. */
const asText = ({ prompt, source, template }: Task["prompt"]): string =>
  prompt.trimStart().startsWith("/") && source === "webhook" && !template?.startsWith("/")
    ? `The prompt:\n\n${prompt}`
    : prompt

const acpAgent = (options: AcpOptions): Agent => {
  const totals = SessionTotals.make()
  return {
    title: options.command,
    program: options.command,
    answer: (task) =>
      takingOnly(["max_turns"], task, () =>
        inSession(anyId, task, (task, session) =>
          converse(options, { ...task, text: asText(task.prompt), totals }, session)
        )
      )
  }
}

/** https://agentclientprotocol.com; measured with OpenCode, Gemini CLI, codex-acp and claude-agent-acp. */
export const acp: Preset = {
  title,
  example,
  help: "Run the command in a terminal: it must start and wait. Sign in with the agent's own program.",
  agent: (words) =>
    Either.gen(function* () {
      const { rest, values } = yield* readOptions(words, ["allow", "auth", "mode"])
      const [command, ...args] = rest
      const { auth, mode } = values
      const allowed = yield* readAllowed(values.allow, title)
      if (command === undefined) {
        return yield* Either.left(`the command that starts the agent is missing; for example: ${example}`)
      }
      return acpAgent({
        command,
        args,
        allowed,
        ...(auth !== undefined && { auth }),
        ...(mode !== undefined && { mode })
      })
    })
}
