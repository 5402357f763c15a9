// Compiles the pages of `docs/sources` into `src/recipes/Compiled.ts`, which the program, the web UI and the tests import. That
// file is not in git. Importing this script makes it current, and fails on a page that is no recipe.
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { endsWith, hashOf, root } from "./sources.mjs"

const compiled = `${root}src/recipes/Compiled.ts`
const footer = `// from ${hashOf(["docs/sources/", "package-lock.json", "build/recipes.mjs"])}\n`

const isText = (value) => typeof value === "string"
const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

/** The front matter's keys, with what their values must be. TypeScript checks the rest. */
const keys = {
  name: ["a text", isText],
  starts: ["a list of texts", (value) => Array.isArray(value) && value.every(isText)],
  destination: ["a map", (value) => value === undefined || isMap(value)],
  verification: ["a map", isMap],
  secret: [
    "“made here”, “known before” or “shown after”",
    (value) => /^(made here|known before|shown after)$/.test(value)
  ],
  settings: ["a map", isMap],
  documentation: ["a URL", (value) => URL.canParse(value)]
}

/** One line of a text in several. Links to pages become the pages' paths, since the web UI and the command line show them. */
const lineOf = (text) =>
  text.replaceAll(/\s*\n\s*/g, " ").replaceAll(/\[[^\]]*\]\(\.\.\/([\w/-]+\.md)(#[^)]*)?\)/g, "docs/$1")

/** The recipe of a page, by the libraries `marked` and `yaml`. Throws an error that says what is wrong. */
export const recipeOf = (source, { marked, parse }) => {
  const [start, frontMatter] =
    /^---\n(.*?)\n---\n/s.exec(source) ?? fail("It must begin with front matter between two lines `---`.")
  // Its errors name lines of the page.
  const front = parse(`\n${frontMatter}`)
  if (!isMap(front)) fail("The front matter must be a map.")
  for (const key of Object.keys(front))
    if (!Object.hasOwn(keys, key)) fail(`The front matter has an unknown key: ${key}.`)
  for (const [key, [what, isValid]] of Object.entries(keys)) {
    if (!isValid(front[key])) fail(`\`${key}\` in the front matter must be ${what}.`)
  }

  const [title, ...body] = marked.lexer(source.slice(start.length)).filter(({ type }) => type !== "space")
  if (title?.type !== "heading" || title.depth !== 1)
    fail("After the front matter, it must have the label as a heading `#`.")
  const sections = new Map([["", []]])
  for (const token of body) {
    if (token.type !== "heading") [...sections.values()].at(-1).push(token)
    else if (sections.has(token.text)) fail(`It has two sections “${token.text}”.`)
    else sections.set(token.text, [])
  }
  /** Takes the section's only token, of this type. */
  const take = (section, what, isValid) => {
    const tokens = sections.get(section) ?? fail(`It must have a section “${section}”.`)
    if (tokens.length !== 1 || !isValid(tokens[0])) {
      fail(
        section === "" ? `Before the first section, it must have ${what} only.` : `“${section}” must be ${what} only.`
      )
    }
    sections.delete(section)
    return tokens[0]
  }
  const fence = (section) =>
    take(section, "one fenced block", ({ type, raw }) => type === "code" && /^[`~]{3}/.test(raw)).text
  const list = (section, what, ordered) =>
    take(section, what, (token) => token.type === "list" && token.ordered === ordered).items.map(({ text }) =>
      lineOf(text)
    )

  const summary = lineOf(take("", "one paragraph, the summary,", ({ type }) => type === "paragraph").text)
  // An introduction is for readers of the page.
  if (sections.get("Steps")?.[0]?.type === "paragraph") sections.get("Steps").shift()
  const steps = list("Steps", "a numbered list", true)
  const [file, name] = [...sections.keys()].map((section) => /^File `(.+)`$/.exec(section)).find(Boolean) ?? []
  const config = file && { file: name, text: `${fence(file)}\n` }
  const notes = list("Notes", "a bullet list", false)
  const prompt_template = fence("Prompt")
  const sample = sampleOf(fence("Sample request"))
  for (const section of sections.keys()) fail(`It has an unknown section: “${section}”.`)
  for (const text of [summary, ...steps, ...notes]) {
    if (/\]\(/.test(text)) fail(`It may link to pages of docs only, such as ../use/webhooks.md: “${text}”`)
  }
  const { starts, destination, verification, secret, settings, documentation } = front
  return {
    ...{ label: title.text, name: front.name, summary, starts, destination, verification, secret, settings },
    ...{ prompt_template, steps, config, notes, sample, documentation }
  }
}

/** Headers, an empty line, and JSON. */
const sampleOf = (text) => {
  const [head, ...body] = text.split("\n\n")
  const headers = head.split("\n").map((line) => {
    const [, name, value] =
      /^([a-z0-9-]+): (.+)$/.exec(line) ?? fail(`The sample request has no header in the line “${line}”.`)
    return [name, value]
  })
  try {
    return { headers: Object.fromEntries(headers), payload: JSON.parse(body.join("\n\n")) }
  } catch ({ message }) {
    return fail(`The sample request's body must be JSON: ${message}`)
  }
}

const fail = (message) => {
  throw new Error(message)
}

/** The names of the pages, in the order of the table in README.md. */
const namesIn = (folder) => {
  const index = readFileSync(`${folder}README.md`, "utf8")
  const listed = [...index.matchAll(/^\| \[.+?\]\(([\w-]+)\.md\) \|/gm)].map(([, name]) => name)
  const pages = readdirSync(folder).map((file) => file.replace(/\.md$/, ""))
  for (const name of pages) {
    if (name !== "README" && !listed.includes(name)) fail(`docs/sources/README.md: The table must list ${name}.md.`)
  }
  return listed
}

if (!endsWith(compiled, footer)) {
  const [{ marked }, { parse }] = await Promise.all([import("marked"), import("yaml")])
  const folder = `${root}docs/sources/`
  const recipes = namesIn(folder).map((name) => {
    try {
      return [name, recipeOf(readFileSync(`${folder}${name}.md`, "utf8"), { marked, parse })]
    } catch ({ message }) {
      return fail(`docs/sources/${name}.md: ${message}`)
    }
  })
  const names = recipes.map(([name]) => JSON.stringify(name)).join(" | ")
  writeFileSync(
    `${compiled}.${process.pid}`,
    `/** Compiled from docs/sources by build/recipes.mjs. */
import type { Recipe } from "./Recipe.ts"

export const recipes: { readonly [name in ${names}]: Recipe } = ${JSON.stringify(Object.fromEntries(recipes), undefined, 2)}
${footer}`
  )
  // At once, since several builds may run.
  renameSync(`${compiled}.${process.pid}`, compiled)
}
