/** The text of a command's help, in lines that fit the terminal. */
import { CliOutput } from "effect/cli"

/** Where descriptions begin at most: a longer option has its description below. */
const column = 30
const indent = 2

/** 80 where no terminal shows it. Longer lines than 100 are hard to read. */
const widthOf = (): number => Math.min((process.stdout.isTTY && process.stdout.columns) || 80, 100)

/** The words of a text in lines of this width. */
const linesOf = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const word of text.split(" ")) {
    const longer = lines.length === 0 ? undefined : `${lines.at(-1)} ${word}`
    if (longer !== undefined && CliOutput.displayWidth(longer) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

const wrapped = (line: string, width: number): string => {
  const [, left = "", gap = "", right = ""] = /^(?: {2}(\S.*?)( {2,}))?\s*(.*)$/s.exec(line)!
  if (CliOutput.displayWidth(line) <= width && left.length + gap.length + indent <= column) return line
  if (left === "")
    return linesOf(right, width - indent)
      .map((each) => " ".repeat(indent) + each)
      .join("\n")
  const used = indent + CliOutput.displayWidth(left)
  const at = Math.min(used + gap.length, column)
  const below = linesOf(right, width - at).map((each) => " ".repeat(at) + each)
  const first = " ".repeat(indent) + left
  if (used + indent > at) return [first, ...below].join("\n")
  return [first + " ".repeat(at - used) + below[0]!.trimStart(), ...below.slice(1)].join("\n")
}

/** Examples are not wrapped: they are to be pasted. Flags of every command are in the help of the first one alone. */
export const helpText = (doc: Parameters<CliOutput.Formatter["formatHelpDoc"]>[0]): string => {
  const isFirst = doc.commandPath === undefined || doc.commandPath.length === 1
  const { formatHelpDoc } = CliOutput.defaultFormatter()
  const lines = formatHelpDoc(isFirst ? doc : { ...doc, globalFlags: [] }).split("\n")
  const examples = lines.findIndex((line) => line.includes("EXAMPLES"))
  return lines.map((line, at) => (examples >= 0 && at > examples ? line : wrapped(line, widthOf()))).join("\n")
}
