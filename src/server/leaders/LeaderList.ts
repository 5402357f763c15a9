/** Leaders as settings name them: one on each line, a team and the command line that leads it. */
import { Option, Schema } from "effect"
import parseArgv from "string-argv"
import { TeamName } from "../../domain/Team.ts"
import type { Format } from "../../settings/EnvironmentVariable.ts"
import { fromText } from "../../settings/Quantity.ts"

/** A team, and the program that leads it. */
export interface TeamLeader {
  readonly team: TeamName
  /** The program's name or path. */
  readonly command: string
  readonly args: ReadonlyArray<string>
}

const decodeTeam = Schema.decodeOption(TeamName)

/** The words are separated as a shell separates them, with quotes; nothing else of a shell's language is interpreted. */
const parseLine = (line: string): Option.Option<TeamLeader> => {
  const [, name = "", commandLine = ""] = /^\s*([^=\s]+)\s*=\s*(.+)$/.exec(line) ?? []
  const [command, ...args] = parseArgv(commandLine)
  return command === undefined ? Option.none() : Option.map(decodeTeam(name), (team) => ({ team, command, args }))
}

const parse = (text: string): Option.Option<ReadonlyArray<TeamLeader>> =>
  Option.filter(
    Option.all(text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [parseLine(line)]))),
    (leaders) => new Set(leaders.map(({ team }) => team)).size === leaders.length
  )

export const format: Format<ReadonlyArray<TeamLeader>> = {
  accepts: "takes `TEAM=COMMAND …` on each line, such as `review=my-agent --print`, and each team once",
  schema: fromText(Schema.Any as Schema.Schema<ReadonlyArray<TeamLeader>>, parse, (leaders) =>
    leaders.map(({ args, command, team }) => `${team}=${[command, ...args].join(" ")}`).join("\n")
  )
}
