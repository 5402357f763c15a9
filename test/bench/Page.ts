/** `test/bench/measured.md`. `docs/internals/benchmarks.md` says what the figures mean. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Contender } from "./Contender.ts"
import { here } from "./Ours.ts"

const file = join(here, "test/bench/measured.md")

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

export const writePage = ({ contenders, facts, quick, tables }: Page): void => {
  const parts = [
    "# Measured by `npm run bench -- --write`",
    ...(quick ? [note] : []),
    facts.map(item).join("\n"),
    "### Contenders\n",
    contenders.map(({ about, title }) => item(`**${title}**: ${about}.`)).join("\n"),
    tables
  ]
  writeFileSync(file, `${parts.join("\n\n").replaceAll("\n\n\n", "\n\n")}\n`)
}
