import { Result } from "effect"
import type { Agent, Preset, Task } from "./Agent.ts"
import { type Tools, withTools } from "./AgentTools.ts"
import type { AcpOptions } from "./acp/Conversation.ts"
import { converse } from "./acp/Conversation.ts"
import * as Permissions from "./acp/Permissions.ts"
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

const acpAgent = (options: AcpOptions, hasTools: boolean): Agent => {
  const totals = SessionTotals.make()
  const asked = Permissions.makeAsked()
  return {
    title: options.command,
    program: options.command,
    answer: (task) =>
      takingOnly(["max_turns"], task, () =>
        inSession(anyId, task, (task, session) => {
          const granted = asked.grantedBy(task, session)
          const { prompt, said = prompt.prompt } = task
          const text = granted === undefined ? asText(prompt) : `${said}: ${granted}${prompt.prompt.slice(said.length)}`
          const work = (tools?: Tools) =>
            converse(options, { ...task, text, totals, asked, ...(tools && { tools }), granted }, session)
          return hasTools ? withTools(task, work) : work()
        })
      )
  }
}

/** https://agentclientprotocol.com; measured with OpenCode, Gemini CLI, codex-acp and claude-agent-acp. */
export const acp: Preset = {
  title,
  example,
  help: "Run the command in a terminal: it must start and wait. Sign in with the agent's own program.",
  agent: (words) =>
    Result.gen(function* () {
      const { rest, values } = yield* readOptions(words, ["allow", "ask", "auth", "mode"], ["no-tools"])
      const [command, ...args] = rest
      const { auth, mode } = values
      const allowed = yield* Permissions.readAllowed(values.allow, title)
      const asked = yield* Permissions.readKinds("ask", values.ask ?? "none")
      if (command === undefined) {
        return yield* Result.fail(`the command that starts the agent is missing; for example: ${example}`)
      }
      const options = {
        command,
        args,
        allowed,
        asked,
        ...(auth !== undefined && { auth }),
        ...(mode !== undefined && { mode })
      }
      return acpAgent(options, values["no-tools"] === undefined)
    })
}
