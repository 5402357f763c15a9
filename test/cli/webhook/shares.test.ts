/** `shares` on the command line and in configuration files: the name of another webhook. */
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "yaml"
import { sharedServer } from "../SharedServer.ts"

const { file, folder, json, run } = sharedServer()

const create = (name: string, ...more: ReadonlyArray<string>) =>
  json("webhook", "create", "--name", name, "--team", "ops", "--template", "{{payload}}", "--input", "payload", ...more)

const listed = Effect.map(
  Effect.suspend(() => json("webhook", "list")),
  ({ data }) => new Map<string, any>(data.map((one: any) => [one.name, one]))
)

describe("the webhook whose URL is shared", () => {
  it.scopedLive("is named by commands, also with a recipe, whose verification it has itself", () =>
    Effect.gen(function* () {
      yield* json("team", "create", "ops")
      const { webhook: owner } = yield* create("owner")
      const other = yield* create("other", "--shares", "owner")
      expect([other.webhook.shares, Object.keys(other)]).toStrictEqual([owner.id, ["webhook"]])
      const text = yield* run("webhook", "create", "--from", "github", "--team", "ops", "--shares", "owner")
      expect([text.code, text.stdout]).toMatchObject([
        0,
        expect.stringContaining("It shares the URL of another webhook")
      ])
      const refused = yield* run("webhook", "regenerate", "other", "--yes")
      expect([refused.code, refused.stderr]).toMatchObject([1, expect.stringContaining("no token of its own")])
      expect((yield* run("webhook", "edit", "other", "--shares", "missing")).stderr).toContain(
        'the id or name "missing"'
      )
      expect((yield* run("webhook", "delete", "owner", "--yes")).stderr).toContain("Webhooks share its URL")
      expect((yield* json("webhook", "edit", "other", "--shares", "default")).shares).toBe(undefined)
      expect((yield* json("webhook", "edit", "other", "--shares", "owner")).shares).toBe(owner.id)
      const { stdout } = yield* run("export")
      const { webhooks } = parse(stdout)
      expect(webhooks.find(({ name }: any) => name === "other").shares).toBe("owner")
      expect((yield* run("diff", "-f", file("exported.yaml", stdout))).code).toBe(0)
    })
  )

  it.scopedLive("is named by files, and is created, changed and deleted in the right order", () =>
    Effect.gen(function* () {
      const entry = (name: string, more = "") =>
        `  - {name: ${name}, team: ops, input: payload, prompt_template: "{{payload}}"${more}}`
      const apply = (...webhooks: ReadonlyArray<string>) =>
        json("apply", "-f", file("shares.yaml", "webhooks:", ...webhooks), "--prune", "--yes")
      yield* apply(entry("a", ", shares: z"), entry("b", ", shares: z"), entry("z"))
      const before = yield* listed
      expect(["a", "b"].map((name) => before.get(name).shares)).toStrictEqual([before.get("z").id, before.get("z").id])
      expect((yield* run("diff", "-f", join(folder(), "shares.yaml"))).code).toBe(0)
      // The other one now has the URL, and is changed itself.
      yield* apply(entry("b", ", run_title: x"), entry("a", ", shares: b"))
      const after = yield* listed
      expect([...after.keys()].toSorted()).toStrictEqual(["a", "b"])
      expect([after.get("a").shares, after.get("b").shares]).toStrictEqual([after.get("b").id, undefined])
      const refused = yield* run("apply", "-f", file("shares.yaml", "webhooks:", entry("c", ", shares: none")))
      expect([refused.code, refused.stderr]).toMatchObject([2, expect.stringContaining("does not exist")])
      yield* apply("  []")
      expect((yield* listed).size).toBe(0)
    })
  )
})
