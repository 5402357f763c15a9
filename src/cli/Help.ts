/** The text of `--help`. The library's own help is too long and lacks the full name of nested commands. */
import { Array as Arr } from "effect"
import { CliConfig, Command, HelpDoc } from "effect/cli"
import type { Span } from "@effect/cli/HelpDoc/Span"
import { type Group, isGroup, type Leaf, nameOf } from "./Commands.ts"
import { terminalWidth } from "./Output.ts"
import { parametersOf } from "./Parameters.ts"

/** A command's description: a one-line summary, details and examples. */
export const about = (
  summary: string,
  more: { readonly details?: string; readonly examples?: Arr.NonEmptyReadonlyArray<string> } = {}
): HelpDoc.HelpDoc =>
  HelpDoc.blocks([
    HelpDoc.p(summary),
    ...(more.details === undefined ? [] : [HelpDoc.p(more.details)]),
    ...(more.examples === undefined ? [] : [HelpDoc.enumeration(Arr.map(more.examples, (line) => HelpDoc.p(line)))])
  ])

const textOf = (span: Span): string =>
  span._tag === "Sequence"
    ? textOf(span.left) + textOf(span.right)
    : typeof span.value === "string"
      ? span.value
      : textOf(span.value)

const blocksOf = (help: HelpDoc.HelpDoc): ReadonlyArray<HelpDoc.HelpDoc> =>
  help._tag === "Sequence" ? [...blocksOf(help.left), ...blocksOf(help.right)] : [help]

/** The paragraphs of a help text, each as one line. */
export const paragraphs = (help: HelpDoc.HelpDoc): ReadonlyArray<string> =>
  blocksOf(help).flatMap((block) => (block._tag === "Paragraph" ? [textOf(block.value)] : []))

/** Wraps at 100 characters or the terminal's width, and indents all lines but the first by `indent` spaces. */
const wrap = (text: string, indent: number): string => {
  const width = Math.min(100, terminalWidth())
  const lines = [""]
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!
    if (line !== "" && indent + line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`
  }
  return lines.join(`\n${" ".repeat(indent)}`)
}

/** Names and meanings in two columns. */
const list = (rows: ReadonlyArray<readonly [name: string, meaning: string]>): string => {
  const column = Math.max(...rows.map(([name]) => name.length)) + 4
  return rows.map(([name, meaning]) => `  ${name.padEnd(column - 2)}${wrap(meaning, column)}`.trimEnd()).join("\n")
}

const config = CliConfig.make({ showBuiltIns: false, showAllNames: false })
export const summaryOf = (command: Leaf): string => paragraphs(Command.getHelp(command, config))[0]!

const rowsOf = ({ commands }: Group, path: ReadonlyArray<string>): ReadonlyArray<readonly [string, string]> =>
  commands.flatMap((command): ReadonlyArray<readonly [string, string]> => {
    const words = [...path, nameOf(command)]
    return isGroup(command) ? [["", ""], ...rowsOf(command, words)] : [[words.join(" "), summaryOf(command)]]
  })

/** The first steps, then the groups and the other commands, each in a line. */
const overviewOf = ({ commands }: Group, start: Group["start"] & {}): ReadonlyArray<string> => {
  const [leaves, groups] = Arr.partition(commands, isGroup)
  return [
    `Start here:\n${list(start)}`,
    `Groups of commands:\n${list(groups.map(({ about, name }) => [name, about]))}`,
    `Other commands:\n${list(leaves.map((leaf) => [nameOf(leaf), summaryOf(leaf)]))}`
  ]
}

/** The commands of a group. */
export const ofGroup = (group: Group, path: ReadonlyArray<string>): string =>
  [
    group.about,
    `Usage: ${path.join(" ")} <command> [options]`,
    ...(group.start === undefined ? [list(rowsOf(group, path.slice(1)))] : overviewOf(group, group.start)),
    ...(group.note === undefined ? [] : [wrap(group.note, 0)]),
    `Help for a command${group.start === undefined ? "" : " or a group"}: ${path.join(" ")} <command> --help`
  ].join("\n\n")

/** Arguments and required options; all options are in a list below. */
const usageOf = (command: Leaf, path: ReadonlyArray<string>): string => {
  const { args, options } = parametersOf(command)
  const takesProgram = args.some(({ name }) => name === "<program>")
  const named = args.map(({ isRequired, mayRepeat, name }) =>
    mayRepeat ? `${name}...` : isRequired ? name : `[${name}]`
  )
  const required = Arr.dedupe(options.filter(({ isRequired }) => isRequired).map(({ need }) => need)).map((need) =>
    need.includes(" or ") ? `(${need.replaceAll(" or ", " | ")})` : need
  )
  return takesProgram
    ? [...path, ...required, "[options]", "--", ...named].join(" ")
    : [...path, ...named, ...required, "[options]"].join(" ")
}

/** What a command takes, with the meaning of each: `--url address`, `-f, --file path`, `<team>`. */
export const meaningsOf = (command: Leaf): ReadonlyArray<readonly [string, string]> =>
  blocksOf(Command.getHelp(command, config))
    .flatMap((block) => (block._tag === "DescriptionList" ? block.definitions : []))
    // The first paragraph of a definition is the library's text about the type.
    .map(([name, help]) => [textOf(name).replace(/^\((.*)\)$/, "$1"), paragraphs(help)[1] ?? ""] as const)

/** One command: its usage, options and examples. */
export const ofCommand = (command: Leaf, path: ReadonlyArray<string>): string => {
  const blocks = blocksOf(Command.getHelp(command, config))
  const [summary, ...details] = blocks.flatMap(paragraphs)
  const examples = blocks.flatMap((block) => (block._tag === "Enumeration" ? block.elements.flatMap(paragraphs) : []))
  const taken = meaningsOf(command)
  const sections = {
    Arguments: list(taken.filter(([name]) => !name.startsWith("-"))),
    Options: list(taken.filter(([name]) => name.startsWith("-"))),
    Examples: examples.map((line) => `  ${line}`).join("\n")
  }
  return [
    summary,
    wrap(`Usage: ${usageOf(command, path)}`, "Usage: ".length),
    ...details.map((text) => wrap(text, 0)),
    ...Object.entries(sections).flatMap(([title, text]) => (text === "" ? [] : [`${title}:\n${text}`]))
  ].join("\n\n")
}
