/** docs/use/sources.md says what the recipes say, and its commands create webhooks by them. */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Recipe } from "../../src/recipes/Recipe.ts"
import { type RecipeName, recipeNames, recipes } from "../../src/recipes/Recipes.ts"
import { runWith } from "../cli/CommandLine.ts"
import { adminKey, start } from "../http/Server.ts"
import { draftOf, secretFor } from "../http/SignedRequests.ts"
import { cleanUpAtExit, exec } from "../support/Process.ts"
import { sourcesPage } from "./SourcesPage.ts"

const page = new URL("../../docs/use/sources.md", import.meta.url).pathname

it("docs/use/sources.md is what the recipes say", () => expect(sourcesPage()).toMatchFileSnapshot(page))

/** Stands for the command line: writes down its words and what it reads. */
const recorder = `#!/bin/sh
n=$(ls | grep -c words)
printf '%s\\0' "$@" > "$n.words"
cat > "$n.template"
`

it.scopedLive("its commands create what the recipes say, and its script is accepted", () =>
  Effect.gen(function* () {
    const folder = mkdtempSync(join(tmpdir(), "webhook-trigger-sources-"))
    const remove = cleanUpAtExit(folder)
    yield* Effect.addFinalizer(() => Effect.promise(remove))
    const sh = (text: string) =>
      Effect.promise(() =>
        exec("/bin/sh", ["-ec", text], { cwd: folder, env: { PATH: `${folder}:${process.env.PATH}` } })
      )
    writeFileSync(join(folder, "webhook-trigger"), recorder, { mode: 0o755 })
    for (const name of recipeNames) {
      const recipe: Recipe = recipes[name]
      if (recipe.secret === "known before") writeFileSync(join(folder, `${name}.secret`), secretFor(recipe))
    }
    const blocks = [...readFileSync(page, "utf8").matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)
    const [commands, [script, ...others]] = [blocks.slice(0, recipeNames.length), blocks.slice(recipeNames.length)]
    expect(others).toStrictEqual([])
    yield* sh(commands.join("\n"))
    expect(readdirSync(folder).filter((file) => file.endsWith(".words"))).toHaveLength(recipeNames.length)

    const { admin, origin, history, team } = yield* start()
    yield* team("demo")
    let url = ""
    for (const [index, name] of recipeNames.entries()) {
      const words = readFileSync(join(folder, `${index}.words`), "utf8")
        .split("\0")
        .slice(0, -1)
      const files = words.map((word, at) =>
        words[at - 1] === "--template-file"
          ? join(folder, `${index}.template`)
          : words[at - 1] === "--secret-file"
            ? join(folder, word)
            : word
      )
      const created = yield* runWith({ WEBHOOK_TRIGGER_URL: origin, ADMIN_API_KEY: adminKey }, ...files, "--json")
      expect([created.code, created.stderr]).toStrictEqual([0, ""])
      const { webhook, trigger_url } = JSON.parse(created.stdout)
      const { prompt_template, secret, ...draft } = draftOf(recipes[name as RecipeName], "")
      expect(webhook).toMatchObject({ ...draft, team: "demo", prompt_template: `${prompt_template}\n` })
      url = trigger_url
    }
    // The last one is that of the script.
    const secret = readFileSync(join(folder, "generic.secret"), "utf8").trim()
    yield* sh(script!.replace("TRIGGER_URL", url).replace("SECRET", secret))
    const last = (yield* admin("GET", "/api/webhooks")).json.data.find(
      (each: any) => each.verification.preset === "hmac"
    )
    expect(yield* history(last.id)).toHaveLength(1)
  })
)
