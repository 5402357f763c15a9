/** Every command that the documentation names exists, with its options. commands.test.ts runs those in blocks, before a release. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import stringArgv from "string-argv"
import { runWith } from "../cli/CommandLine.ts"
import { expect, it } from "../support/It.ts"

const root = new URL("../../", import.meta.url).pathname

const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"), { recursive: true }).map((name) => `docs/${name}`)
].filter((name) => name.endsWith(".md"))

/** The code of a page: blocks, line by line, and pieces in sentences. */
const codeOf = (text: string): ReadonlyArray<string> => {
  const blocks = [...text.matchAll(/^ *```\w*\n([\s\S]*?)^ *```$/gm)].map(([, block]) =>
    block!.replaceAll(/\\\n\s*/g, " ")
  )
  const sentences = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "")
  return [
    ...blocks.flatMap((block) => block.split("\n")),
    ...[...sentences.matchAll(/`([^`]+)`/g)].map(([, code]) => code!.replaceAll(/\s+/g, " "))
  ]
}

/** The words after the program's name, up to those of another program. */
const commandsIn = (code: string): ReadonlyArray<ReadonlyArray<string>> =>
  [...code.matchAll(/(?:^|[\s(])(?:webhook-trigger|node dist\/main\.js) +([a-z].*)/g)].map(([, words]) => {
    const all = stringArgv(words!)
    const end = all.findIndex((word) => /^(--|[|>&#;<].*|\|\||2>.*|…)$/.test(word))
    return (end < 0 ? all : all.slice(0, end)).map((word) => word.replace(/[);]+$/, ""))
  })

const commands = pages.flatMap((page) =>
  codeOf(readFileSync(join(root, page), "utf8"))
    .flatMap(commandsIn)
    .map((words) => [page, words] as const)
)

it.effect("names no command and no option that does not exist", function* () {
  expect(commands.length).toBeGreaterThan(50)
  const wrong: Array<string> = []
  for (const [page, words] of commands) {
    const line = `${page}: webhook-trigger ${words.join(" ")}`
    const { code, stderr, stdout } = yield* runWith({}, ...words.filter((word) => !word.startsWith("-")), "--help")
    if (code !== 0) wrong.push(`${line}: ${stderr}`)
    const unknown = words.filter((word) => /^--?[a-z]/.test(word) && !new RegExp(`${word}\\b`).test(stdout))
    if (unknown.length > 0) wrong.push(`${line}: no ${unknown.join(", ")}`)
  }
  expect(wrong).toEqual([])
})
