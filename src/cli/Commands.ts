import { Command } from "@effect/cli"
import type { HttpClient } from "@effect/platform"
import { Effect } from "effect"
import { type Failure, usage } from "./Failure.ts"

export type Leaf = Command.Command<any, HttpClient.HttpClient, Failure, any>

/** Commands with the same first words: `webhook list`, `webhook create`, … */
export interface Group {
  readonly name: string
  readonly about: string
  /** Shown in the help below the list of commands. */
  readonly note?: string
  readonly commands: ReadonlyArray<Leaf | Group>
}

/** A command on the command line. `path` is its full name with the program's name. */
interface Found<A> {
  readonly command: A
  readonly path: ReadonlyArray<string>
  readonly wantsHelp: boolean
  /** The words after the command's name. */
  readonly words: ReadonlyArray<string>
}

export const isGroup = (command: Leaf | Group): command is Group => "commands" in command

export const nameOf = (command: Leaf | Group): string =>
  isGroup(command) ? command.name : [...Command.getNames(command)][0]!

const isHelp = (word: string) => word === "--help" || word === "-h"

/** Finds the command or group. */
export const find = (
  group: Group,
  words: ReadonlyArray<string>,
  above: ReadonlyArray<string> = []
): Effect.Effect<Found<Leaf> | Found<Group>, Failure> => {
  const path = [...above, group.name]
  const [word, ...rest] = words
  if (word === undefined || isHelp(word)) return Effect.succeed({ command: group, path, wantsHelp: true, words: [] })
  if (word === "help") return find(group, [...rest, "--help"], above)
  const command = group.commands.find((candidate) => nameOf(candidate) === word)
  if (command === undefined) {
    const names = group.commands.map(nameOf).join(", ")
    return Effect.fail(usage(`${path.join(" ")} has no command ${JSON.stringify(word)}; it has ${names}`))
  }
  return isGroup(command)
    ? find(command, rest, path)
    : Effect.succeed({ command, path: [...path, word], wantsHelp: rest.some(isHelp), words: rest })
}
