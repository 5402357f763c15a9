/** `shares` on the command line and in configuration files: the name of another webhook. */
import { join } from "node:path"
import { Effect } from "effect"
import { parse } from "yaml"
import { describe, expect, it } from "../../support/It.ts"
import { sharedServer } from "../SharedServer.ts"

const { file, folder, json, run, runAt } = sharedServer()

const create = (name: string, ...more: ReadonlyArray<string>) =>
  json("webhook", "create", "--name", name, "--team", "ops", "--template", "{{payload}}", "--input", "payload", ...more)

const listed = Effect.map(
  Effect.suspend(() => json("webhook", "list")),
  ({ data }) => new Map<string, any>(data.map((one: any) => [one.name, one]))
)

describe("the webhook whose URL is shared", () => {
  it.live("is named by commands, also with a recipe, whose verification it has itself", function* () {
    yield* json("team", "create", "ops")
    const { webhook: owner } = yield* create("owner")
    const other = yield* create("other", "--shares", "owner")
    expect([other.webhook.shares, Object.keys(other)]).toStrictEqual([owner.id, ["webhook"]])
    const text = yield* run("webhook", "create", "--from", "github", "--team", "ops", "--shares", "owner")
    expect([text.code, text.stdout]).toMatchObject([0, expect.stringContaining("It shares the URL of another webhook")])
    const refused = yield* run("webhook", "regenerate", "other", "--yes")
    expect([refused.code, refused.stderr]).toMatchObject([1, expect.stringContaining("no token of its own")])
    expect((yield* run("webhook", "edit", "other", "--shares", "missing")).stderr).toContain('the id or name "missing"')
    expect((yield* run("webhook", "delete", "owner", "--yes")).stderr).toContain("Webhooks share its URL")
    expect((yield* json("webhook", "edit", "other", "--shares", "default")).shares).toBe(undefined)
    expect((yield* json("webhook", "edit", "other", "--shares", "owner")).shares).toBe(owner.id)
    const { stdout } = yield* run("export")
    const { webhooks } = parse(stdout)
    expect(webhooks.find(({ name }: any) => name === "other").shares).toBe("owner")
    expect((yield* run("diff", "-f", file("exported.yaml", stdout))).code).toBe(0)
  })

  it.live("is named by files, and is created, changed and deleted in the right order", function* () {
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

  it.live("may be one that the key cannot list, if it stays the same", function* () {
    for (const team of ["first", "second"]) yield* json("team", "create", team)
    const added = (name: string, team: string, ...more: ReadonlyArray<string>) =>
      json("webhook", "create", "--name", name, "--team", team, "--template", "{{text}}", ...more)
    const { webhook: owner } = yield* added("of-first", "first")
    yield* added("of-second", "second", "--shares", owner.id)
    const { key } = yield* json("key", "create", "--name", "k", "--role", "editor", "--teams", "second")
    const runAs = (...words: ReadonlyArray<string>) => runAt({ ADMIN_API_KEY: key }, ...words)
    const { stdout } = yield* runAs("export")
    expect(parse(stdout).webhooks.map(({ shares }: any) => shares)).toStrictEqual([owner.id])
    const edited = yield* runAs("apply", "-f", file("second.yaml", stdout.replace("{{text}}", "{{other}}")), "--yes")
    expect([edited.code, edited.stderr]).toStrictEqual([0, ""])
    const unused = "01890a5d-ac96-774b-bcce-b302099a8057"
    const other = yield* runAs("diff", "-f", file("second.yaml", stdout.replace(owner.id, unused)))
    expect([other.code, other.stderr]).toMatchObject([2, expect.stringContaining("does not exist")])
  })
})
