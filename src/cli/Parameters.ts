/** The options and arguments of a command, from the library's description of it. */
import { type Usage } from "@effect/cli"
import { Option } from "effect"
import { Command } from "effect/cli"
import type { Leaf } from "./Commands.ts"

export interface Parameter {
  /** An option's long name or an argument's name, such as `--yes` and `<team>`. */
  readonly name: string
  /** All names of an option, such as `-y` and `--yes`. */
  readonly names: ReadonlyArray<string>
  /** The name of the option's value, or its choices. Absent for a switch and for an argument. */
  readonly value?: string
  /** As in `--name text`. Alternative options share it: `--template text or --template-file file`. */
  readonly need: string
  readonly isRequired: boolean
  readonly mayRepeat: boolean
}

export interface Parameters {
  readonly options: ReadonlyArray<Parameter>
  readonly args: ReadonlyArray<Parameter>
}

const one = (names: ReadonlyArray<string>, value: string | undefined): Parameter => {
  const name = names.find((name) => name.startsWith("--")) ?? names[0]!
  const common = { name, names, isRequired: true, mayRepeat: false }
  return value === undefined ? { ...common, need: name } : { ...common, value, need: `${name} ${value}` }
}

const parts = (usage: Usage.Usage): ReadonlyArray<Parameter> => {
  switch (usage._tag) {
    case "Named":
      return [one(usage.names, Option.getOrUndefined(usage.acceptedValues))]
    case "Concat":
      return [...parts(usage.left), ...parts(usage.right)]
    case "Alternation": {
      const all = [...parts(usage.left), ...parts(usage.right)]
      const need = all.map(({ need }) => need).join(" or ")
      return all.map((part) => ({ ...part, need }))
    }
    case "Optional":
      return parts(usage.usage).map((part) => ({ ...part, isRequired: false }))
    case "Repeated":
      return parts(usage.usage).map((part) => ({ ...part, isRequired: false, mayRepeat: true }))
    case "Empty":
    case "Mixed":
      return []
  }
}

export const parametersOf = (command: Leaf): Parameters => {
  const [, ...all] = parts(Command.getUsage(command))
  const isOption = ({ name }: Parameter) => name.startsWith("-")
  return { options: all.filter(isOption), args: all.filter((part) => !isOption(part)) }
}
