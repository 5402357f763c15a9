/** `docs/internals/benchmarks.md`: the measurements are between two marks; people write the text around them. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Contender } from "./Contender.ts"
import { here } from "./Ours.ts"

const file = join(here, "docs/internals/benchmarks.md")
const [begin, end] = ["<!-- measured: begin -->", "<!-- measured: end -->"]

interface Page {
  /** The command, the machine and the versions. */
  readonly facts: ReadonlyArray<string>
  readonly contenders: ReadonlyArray<Contender>
  readonly tables: string
  readonly quick: boolean
}

const note =
  "> **From short rounds on a machine that was also used for other things: to be replaced by a full run.** The figures\n" +
  "> show that everything works, and no more."

/** An item of a list, in lines of at most 125 characters. */
const item = (text: string): string =>
  text
    .match(/\S.{0,122}(?=\s|$)/g)!
    .map((line, index) => `${index === 0 ? "- " : "  "}${line}`)
    .join("\n")

const measured = ({ contenders, facts, quick, tables }: Page): string =>
  [
    ...(quick ? [note] : []),
    facts.map(item).join("\n"),
    "### Contenders\n",
    contenders.map(({ about, title }) => item(`**${title}**: ${about}.`)).join("\n"),
    tables
  ]
    .join("\n\n")
    .replaceAll("\n\n\n", "\n\n")

export const writePage = (page: Page): void => {
  const text = existsSync(file) ? readFileSync(file, "utf8") : `${begin}\n${end}\n`
  const [before, after] = [text.split(begin)[0]!, text.split(end)[1]]
  if (after === undefined) throw new Error(`the marks are missing in ${file}`)
  writeFileSync(file, `${before}${begin}\n\n${measured(page)}\n\n${end}${after}`)
}
