/** Any program as a team's leader. It reads the prompt from standard input and writes the answer to standard output. */
import type { Effect, Scope } from "effect"
import type { LeaderBus } from "../bus/Bus.ts"
import { readReport } from "../domain/run/Progress.ts"
import { isLeaderCode } from "../domain/run/RunStatus.ts"
import * as AgentLeader from "./AgentLeader.ts"
import type { Agent } from "./agents/Agent.ts"
import { eventLines } from "./agents/output/EventLines.ts"
import type { Events } from "./agents/output/EventReader.ts"
import { limiting } from "./agents/output/Limits.ts"
import { at, reporting, textAt } from "./agents/output/Reading.ts"
import { withHistory } from "./agents/Session.ts"
import { environment } from "./Place.ts"
import { runProgram, wholeText } from "./Program.ts"

export { ProgramMissing } from "./AgentLeader.ts"

/** A program, and how it prints its answer. */
export interface ProgramOptions {
  /** A path, or a name in `PATH`. */
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** How its output is read. Default: all of it is the answer. `json-lines`: a reply on each line. */
  readonly output?: "text" | "json-lines"
}

export type CommandOptions = Omit<AgentLeader.AgentLeaderOptions, "agent"> & ProgramOptions

/** Any program that prints replies as JSON, one on a line, with the fields that docs/reference/amqp.md describes. */
const jsonLines: Events = {
  read: (reading, event) => {
    if (at(event, "type") === "progress") return reading
    const reported = reporting(reading, event as object)
    const failure = at(event, "type") === "error" ? textAt(event, "message") : undefined
    if (failure !== undefined) {
      const [code, response] = [at(event, "code"), textAt(event, "response")]
      const limit = isLeaderCode(code) ? { code, ...(response !== undefined && { answer: response }) } : {}
      return { ...reported, failure, ...limit, isDone: true }
    }
    const answer = textAt(event, "response")
    return answer === undefined ? reported : { ...reported, answer, isDone: true }
  },
  progress: (event) => (at(event, "type") === "progress" ? readReport(event as Record<string, unknown>) : undefined)
}

/** The program, which runs once for each prompt. */
export const agent = ({ args, command, output = "text" }: ProgramOptions): Agent => ({
  title: command,
  program: command,
  answer: (given) => {
    const task = given.prompt.thread?.session_id === undefined ? withHistory(given) : given
    const { place, prompt } = task
    const program = { ...place, command, args, input: prompt.prompt, env: environment(prompt, place) }
    return output === "text"
      ? runProgram(program, wholeText(task.heard))
      : runProgram(program, eventLines(limiting(jsonLines, task.prompt.agent ?? {}), task))
  }
})

/** Leads the team with the program until the scope closes; `AgentLeader.start` says how it stops. */
export const start = (
  options: CommandOptions
): Effect.Effect<void, AgentLeader.ProgramMissing, LeaderBus | Scope.Scope> =>
  AgentLeader.start({ ...options, agent: agent(options) })

/** Leads the team with the program until interrupted, for example by SIGTERM. */
export const run = (options: CommandOptions): Effect.Effect<never, AgentLeader.ProgramMissing, LeaderBus> =>
  AgentLeader.run({ ...options, agent: agent(options) })
