/** The index of docs/sources, the faults that its pages may have, and the script of the page for services of one's own. */
import { mkdtempSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { marked } from "marked"
import { parse } from "yaml"
import { recipeNames, recipes } from "../../src/recipes/Recipes.ts"
import { start } from "../http/Server.ts"
import { draftOf } from "../http/SignedRequests.ts"
import { describe, expect, it } from "../support/It.ts"
import { cleanUpAtExit, exec } from "../support/Process.ts"

const folder = new URL("../../docs/sources/", import.meta.url).pathname

const pageOf = (name: string) => readFileSync(join(folder, `${name}.md`), "utf8")

it("the index lists each page with its label and summary", () => {
  const rows = [...pageOf("README").matchAll(/^\| \[(.+)\]\((.+)\.md\) \| (.+) \|$/gm)].map(([, ...row]) => row)
  expect(rows).toEqual(recipeNames.map((name) => [recipes[name].label, name, recipes[name].summary]))
})

it("a page says which recipe it is", () => {
  for (const name of recipeNames) expect(pageOf(name)).toContain(`from the recipe \`${name}\``)
})

describe("a page", async () => {
  // Not by its path alone: it has no types.
  const { recipeOf } = await import(new URL("../../build/recipes.mjs", import.meta.url).href)
  const compiled = (page: string) => recipeOf(page, { marked, parse })
  const page = pageOf("generic")

  it("may wrap lines, and link to other pages", () => {
    const note = "- See [filters](../use/filters.md#share-a-url),\n  “Share a\n  URL”.\n"
    const { notes } = compiled(page.replace("## Notes\n\n", `$&${note}`))
    expect(notes).toEqual(["See docs/use/filters.md, “Share a URL”.", ...recipes.generic.notes])
  })

  it.each([
    ["---\nname:", "name:", "It must begin with front matter between two lines `---`."],
    ["secret: made here", "secret: somewhere", "`secret` in the front matter must be “made here”, “known before”"],
    ["starts:\n  - Every request", "starts: Every request", "`starts` in the front matter must be a list of texts."],
    ["secret:", "secrets:", "The front matter has an unknown key: secrets."],
    ["verification:", "verification: {", "on a single line at line 6"],
    ["# Your own service", "Your own service", "it must have the label as a heading `#`."],
    ["## Prompt", "## Promt", "It must have a section “Prompt”."],
    ["## Notes", "Write a note.\n\n## Notes", "“File `send.sh`” must be one fenced block only."],
    ["## Notes\n", "## Notes\n\nOne more.\n", "“Notes” must be a bullet list only."],
    ["## Notes", "## Hints\n\n## Notes", "It has an unknown section: “Hints”."],
    ["## Notes", "## Prompt\n\n## Notes", "It has two sections “Prompt”."],
    ["- A service", "- [A service](https://example.com)", "It may link to pages of docs only"],
    ["x-delivery-id: ", "x-delivery-id ", "The sample request has no header in the line “x-delivery-id 0"],
    ['"version": "1.2.3"\n', '"version": 1.2.3\n', "The sample request's body must be JSON"]
  ])("that is no recipe is refused: %j as %j", (text, other, message) => {
    const at = page.lastIndexOf(text)
    expect(at).not.toBe(-1)
    expect(() => compiled(page.slice(0, at) + other + page.slice(at + text.length))).toThrow(message)
  })
})

it.live("the script for services of one's own is accepted", function* () {
  const place = mkdtempSync(join(tmpdir(), "webhook-trigger-sources-"))
  const remove = cleanUpAtExit(place)
  yield* Effect.addFinalizer(() => Effect.promise(remove))
  const { history, origin, team, webhook } = yield* start()
  const secret = "a-secret-of-16-or-more"
  const { prompt_template, ...draft } = draftOf(recipes.generic, secret)
  const { id, path } = yield* webhook(yield* team("demo"), prompt_template, draft)
  const [, script] = /^```sh\n([\s\S]*?)^```$/m.exec(pageOf("generic"))!
  const text = script!.replace("TRIGGER_URL", origin + path).replace("SECRET", secret)
  yield* Effect.promise(() => exec("/bin/sh", ["-ec", text], { cwd: place, env: { PATH: process.env.PATH! } }))
  expect(yield* history(id)).toHaveLength(1)
})
