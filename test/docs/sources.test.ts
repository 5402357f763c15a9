/** docs/sources says what the recipes say, and the script of its page for services of one's own is accepted. */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { recipes } from "../../src/recipes/Recipes.ts"
import { start } from "../http/Server.ts"
import { draftOf } from "../http/SignedRequests.ts"
import { cleanUpAtExit, exec } from "../support/Process.ts"
import { sourcePages } from "./SourcePages.ts"

const folder = new URL("../../docs/sources/", import.meta.url).pathname

it.each([...sourcePages()])("docs/sources/%s is what the recipe says", (name, text) =>
  expect(text).toMatchFileSnapshot(join(folder, name))
)

it("docs/sources has no page without a recipe", () => {
  expect(readdirSync(folder).sort()).toEqual([...sourcePages().keys()].sort())
})

it.live("the script for services of one's own is accepted", () =>
  Effect.gen(function* () {
    const place = mkdtempSync(join(tmpdir(), "webhook-trigger-sources-"))
    const remove = cleanUpAtExit(place)
    yield* Effect.addFinalizer(() => Effect.promise(remove))
    const { history, origin, team, webhook } = yield* start()
    const secret = "a-secret-of-16-or-more"
    const { prompt_template, ...draft } = draftOf(recipes.generic, secret)
    const { id, path } = yield* webhook(yield* team("demo"), prompt_template, draft)
    const [, script] = /^```sh\n([\s\S]*?)^```$/m.exec(readFileSync(join(folder, "generic.md"), "utf8"))!
    const text = script!.replace("TRIGGER_URL", origin + path).replace("SECRET", secret)
    yield* Effect.promise(() => exec("/bin/sh", ["-ec", text], { cwd: place, env: { PATH: process.env.PATH! } }))
    expect(yield* history(id)).toHaveLength(1)
  })
)
