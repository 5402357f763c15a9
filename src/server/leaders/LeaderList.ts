/** Leaders as settings name them: one on each line, a team and what leads it. */
import { Effect, Option, Result, Schema } from "effect"
import parseArgv from "string-argv"
import { agentNames, isAgentName } from "../../domain/AgentName.ts"
import { TeamName } from "../../domain/Team.ts"
import { canRun } from "../../leader/AgentLeader.ts"
import type { Preset } from "../../leader/agents/Agent.ts"
import { presets } from "../../leader/agents/Presets.ts"
import * as Command from "../../leader/Command.ts"
import type { Format } from "../../settings/EnvironmentVariable.ts"
import { fromText } from "../../settings/Quantity.ts"
import { type Placed, placed } from "./WorkspaceWords.ts"

/** A team that the server leads itself. */
export interface TeamLeader {
  readonly team: TeamName
  /** As people know it. */
  readonly title: string
  /** The agent that leads the team and where it works, or what is wrong with its options. */
  readonly agent: Result.Result<Placed, string>
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
    Schema.Any as Schema.Codec<ReadonlyArray<TeamLeader>>,
    (text) =>
      Option.filter(
        Option.all(linesOf(text).map((line) => Option.flatMap(parseLine(line), leaderOf))),
        (leaders) => new Set(leaders.map(({ team }) => team)).size === leaders.length
      ),
    (leaders) => leaders.map(({ team, title }) => `${team}=${title}`).join("\n")
  )
})

const noCommand = "the command is missing"

/** How programs print their answers; without it, as text. */
const outputOption = ["--output", "json-lines"]

/** Any program, after options that say where it works and how it prints its answer. */
export const commands = listOf(
  "`TEAM=COMMAND …`, such as `review=my-agent --print` or `review=--output json-lines my-agent`,",
  ({ team, words }) => {
    const agent = placed(words, (rest) => {
      const isJson = outputOption.every((word, index) => rest[index] === word)
      const [command, ...args] = isJson ? rest.slice(outputOption.length) : rest
      if (command === undefined || command.startsWith("-")) return Result.fail(noCommand)
      return Result.succeed(Command.agent({ command, args, output: isJson ? "json-lines" : "text" }))
    })
    if (Result.isFailure(agent) && agent.failure === noCommand) return Option.none()
    return Option.some({ team, title: Result.isSuccess(agent) ? agent.success.agent.title : "a program", agent })
  }
)

/** An agent by the name of its preset, with options that say where it works, and then its own. */
export const agentLines = listOf(
  `\`TEAM=AGENT …\`, such as \`review=${presets.claude.example}\`, with one of ${agentNames.join(", ")},`,
  ({ team, words }) => {
    const [name, ...options] = words
    if (!isAgentName(name)) return Option.none()
    const preset = presets[name]
    const agent = placed(options, preset.agent)
    return Option.some({ team, title: Result.isSuccess(agent) ? agent.success.agent.title : preset.title, agent })
  }
)

/** The agents whose programs are installed here, with an example of each command line. */
export const installedAgents: Effect.Effect<ReadonlyArray<Pick<Preset, "title" | "example">>> = Effect.sync(() =>
  agentNames.flatMap((name) => {
    const { agent, example, title } = presets[name]
    const [, ...options] = parseArgv(example)
    const made = agent(options)
    return Result.isSuccess(made) && made.success.program === name && canRun(name) ? [{ title, example }] : []
  })
)
