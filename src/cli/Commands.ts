import { Effect, type FileSystem } from "effect"
import { Command } from "effect/cli"
import type { HttpClient } from "effect/http"
import { didYouMean, isOption, unknownOption } from "./ArgumentParser.ts"
import { type Failure, usage } from "./Failure.ts"
import type { Parameter } from "./Parameters.ts"

export type Leaf = Command.Command<any, HttpClient.HttpClient | FileSystem.FileSystem, Failure, any>

/** Commands with the same first words: `webhook list`, `webhook create`, … */
export interface Group {
  readonly name: string
  readonly about: string
  /** Command lines for the first steps, with their meanings. The help then lists groups without their commands. */
  readonly start?: ReadonlyArray<readonly [line: string, meaning: string]>
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

/** The options before a command's name, with their values. */
const leading = (
  words: ReadonlyArray<string>,
  options: ReadonlyArray<Parameter>
): Effect.Effect<ReadonlyArray<string>, Failure> => {
  const [word] = words
  if (word === undefined || isHelp(word) || !isOption(word)) return Effect.succeed([])
  const [name = word, assigned] = word.split("=", 2)
  const option = options.find(({ names }) => names.includes(name))
  if (option === undefined) return Effect.fail(usage(unknownOption(name, options)))
  const length = option.value === undefined || assigned !== undefined ? 1 : 2
  return Effect.map(leading(words.slice(length), options), (others) => [...words.slice(0, length), ...others])
}

interface Place {
  /** The names of the groups above. */
  readonly above: ReadonlyArray<string>
  /** The options before the last name. */
  readonly before: ReadonlyArray<string>
}

/** Finds the command or group. `options` are those that may precede the command's name; they are moved behind it. */
export const find = (
  group: Group,
  words: ReadonlyArray<string>,
  options: ReadonlyArray<Parameter>,
  { above, before }: Place = { above: [], before: [] }
): Effect.Effect<Found<Leaf> | Found<Group>, Failure> =>
  Effect.gen(function* () {
    const path = [...above, group.name]
    const moved = yield* leading(words, options)
    const [word, ...rest] = words.slice(moved.length)
    const place = { above: path, before: [...before, ...moved] }
    if (word === undefined || isHelp(word)) return { command: group, path, wantsHelp: true, words: [] }
    if (word === "help") return yield* find(group, [...rest, "--help"], options, { ...place, above })
    const command = group.commands.find((candidate) => nameOf(candidate) === word)
    if (command === undefined) {
      const names = group.commands.map(nameOf)
      const hint = `${didYouMean(word, names) || ";"} it has ${names.join(", ")}`
      return yield* usage(`${path.join(" ")} has no command ${JSON.stringify(word)}${hint}`)
    }
    if (isGroup(command)) return yield* find(command, rest, options, place)
    return { command, path: [...path, word], wantsHelp: rest.some(isHelp), words: [...place.before, ...rest] }
  })
