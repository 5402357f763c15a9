/** What can be typed at each place of a command line, as plain data for the shells' scripts. */
import { type Group, isGroup, type Leaf, nameOf } from "../Commands.ts"
import { meaningsOf, summaryOf } from "../Help.ts"
import { type Parameter, parametersOf } from "../Parameters.ts"

export interface Option {
  readonly names: ReadonlyArray<string>
  readonly about: string
  /** What follows the option. Absent: nothing. */
  readonly value?: { readonly choices: ReadonlyArray<string> } | "file" | "text"
}

/** Behind these names of commands. */
export interface Place {
  /** `webhook create`, or nothing for the program itself. */
  readonly path: string
  readonly commands: ReadonlyArray<{ readonly name: string; readonly about: string }>
  readonly options: ReadonlyArray<Option>
}

const valueOf = (value: string): Option["value"] => {
  if (/^(file|path|folder)$/.test(value)) return "file"
  const choices = value.split(/\s*\|\s*/)
  return choices.length > 1 ? { choices } : "text"
}

const optionsOf = (command: Leaf): ReadonlyArray<Option> => {
  const meanings = meaningsOf(command)
  const aboutOf = ({ name }: Parameter) => meanings.find(([names]) => names.split(/[\s,]+/).includes(name))?.[1] ?? ""
  return [
    ...parametersOf(command).options.map(
      (option): Option => ({
        names: option.names,
        about: aboutOf(option),
        ...(option.value !== undefined && { value: valueOf(option.value)! })
      })
    ),
    { names: ["--help"], about: "Explain the command" }
  ]
}

/** `common`: the options that may precede a command's name. */
export const placesOf = (group: Group, common: Leaf, above: ReadonlyArray<string> = []): ReadonlyArray<Place> => [
  {
    path: above.join(" "),
    commands: group.commands.map((command) => ({
      name: nameOf(command),
      about: isGroup(command) ? command.about : summaryOf(command)
    })),
    options: optionsOf(common)
  },
  ...group.commands.flatMap((command): ReadonlyArray<Place> => {
    const path = [...above, nameOf(command)]
    return isGroup(command)
      ? placesOf(command, common, path)
      : [{ path: path.join(" "), commands: [], options: optionsOf(command) }]
  })
]

/** As one word of a POSIX shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The options that take this kind of value, as `place:--name`. */
export const valued = (places: ReadonlyArray<Place>) =>
  places.flatMap(({ options, path }) =>
    options.flatMap(({ names, value }) =>
      value === undefined ? [] : [{ patterns: names.map((name) => quoted(`${path}:${name}`)).join("|"), value }]
    )
  )
