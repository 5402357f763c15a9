/** Leaders as settings name them: one on each line, a team and what leads it. */
import { Option, Schema } from "effect"
import parseArgv from "string-argv"
import { type AgentName, agentNames, isAgentName } from "../../domain/AgentName.ts"
import { TeamName } from "../../domain/Team.ts"
import { agents } from "../../leader/agents/Agents.ts"
import type { CommandOptions } from "../../leader/Command.ts"
import type { Format } from "../../settings/EnvironmentVariable.ts"
import { fromText } from "../../settings/Quantity.ts"

/** A team, and the program that leads it. */
export interface TeamLeader extends Pick<CommandOptions, "team" | "command" | "args" | "output"> {
  /** As people know the program. */
  readonly title: string
}

/** A team, and the words after it. */
interface Line {
  readonly team: TeamName
  readonly words: readonly [first: string, ...others: ReadonlyArray<string>]
}

const decodeTeam = Schema.decodeOption(TeamName)

/** The words are separated as a shell separates them, with quotes; nothing else of a shell's language is interpreted. */
const parseLine = (line: string): Option.Option<Line> => {
  const [, name = "", commandLine = ""] = /^\s*([^=\s]+)\s*=\s*(.+)$/.exec(line) ?? []
  const [first, ...others] = parseArgv(commandLine)
  return first === undefined
    ? Option.none()
    : Option.map(decodeTeam(name), (team) => ({ team, words: [first, ...others] }))
}

const linesOf = (text: string) => text.split("\n").filter((line) => line.trim() !== "")

const listOf = (
  accepts: string,
  leaderOf: (line: Line) => Option.Option<TeamLeader>
): Format<ReadonlyArray<TeamLeader>> => ({
  accepts: `takes ${accepts} on each line, and each team once`,
  schema: fromText(
    Schema.Any as Schema.Schema<ReadonlyArray<TeamLeader>>,
    (text) =>
      Option.filter(
        Option.all(linesOf(text).map((line) => Option.flatMap(parseLine(line), leaderOf))),
        (leaders) => new Set(leaders.map(({ team }) => team)).size === leaders.length
      ),
    (leaders) => leaders.map(({ args, command, team }) => `${team}=${[command, ...args].join(" ")}`).join("\n")
  )
})

/** Any program; all of its output is the answer. */
export const commands = listOf("`TEAM=COMMAND …`, such as `review=my-agent --print`,", ({ team, words }) => {
  const [command, ...args] = words
  return Option.some({ team, command, args, title: command })
})

const agentLeader = (team: TeamName, name: AgentName, args: ReadonlyArray<string>): TeamLeader => {
  const agent = agents[name]
  return { team, command: agent.program, args, output: agent, title: agent.title }
}

/** An agent by the name of its preset, with options of its own. */
export const agentLines = listOf(
  `\`TEAM=AGENT …\`, such as \`review=claude --model opus\`, with one of ${agentNames.join(", ")},`,
  ({ team, words }) => {
    const [name, ...args] = words
    return isAgentName(name) ? Option.some(agentLeader(team, name, args)) : Option.none()
  }
)
