/** From a recipe to the first run, without a token. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { recipes } from "../../../src/recipes/Recipes.ts"
import { describe, expect, it } from "../../support/It.ts"
import { temporaryFolder } from "../../support/private.ts"
import { runWith } from "../CommandLine.ts"
import { sharedServer } from "../SharedServer.ts"

const { address, json, run } = sharedServer()

const create = (...words: ReadonlyArray<string>) => run("webhook", "create", "--team", "demo", ...words)

describe("a recipe on the command line", () => {
  it.effect("is listed without a server", function* () {
    const { code, stdout } = yield* runWith({}, "webhook", "recipes")
    expect(code).toBe(0)
    expect(stdout).toMatch(/^NAME +SERVICE +SUMMARY\ngithub +GitHub +Reviews pull requests when /)
    expect(stdout.trimEnd().split("\n")).toHaveLength(1 + Object.keys(recipes).length)
    const { data } = JSON.parse((yield* runWith({}, "webhook", "recipes", "--json")).stdout)
    expect(data[0]).toMatchObject({
      name: "github",
      label: "GitHub",
      documentation: expect.stringMatching(/^https:/)
    })
  })

  it.live("is the start of a webhook, which other options override", function* () {
    const { secret, webhook } = yield* json("webhook", "create", "--from", "github", "--team", "demo")
    const { name, prompt_template, settings, verification } = recipes.github
    expect(webhook).toMatchObject({ name, prompt_template, verification, ...settings })
    expect(secret).toMatch(/^[0-9a-f]{48}$/)
    expect(webhook.secret_hint).toBe(`…${secret.slice(-4)}`)

    const options = [
      "--name",
      "mine",
      "--template",
      "{{payload.action}}",
      "--fence",
      "default",
      "--coalesce",
      "default"
    ]
    const other = yield* json("webhook", "create", "--from", "github", "--team", "demo", ...options, "--timeout", "9")
    expect(other.webhook).toMatchObject({ name: "mine", prompt_template: "{{payload.action}}", timeout_seconds: 9 })
    expect(other.webhook).not.toHaveProperty("fence")
    expect(other.webhook).not.toHaveProperty("coalesce")
    const open = yield* json("webhook", "create", "--from", "github", "--team", "demo", "--verification", "none")
    expect(open).not.toHaveProperty("secret")
    expect(open.webhook).not.toHaveProperty("verification")
  })

  it.live("says what to do at the service, with the secret that was made or is still needed", function* () {
    const github = (yield* create("--from", "github")).stdout
    expect(github).toMatch(
      /shown only once:\n\n {2}http\S+whk_\w+\n\nThe secret is shown only once, too:\n\n {2}\w{48}\n/
    )
    expect(github).toMatch(/\nAt GitHub:\n {2}1\. In the repository[^\n]*\n {2}2\. [\s\S]*\nNotes:\n {2}- /)
    const [, id] = / webhook run (\S+) --sample\n$/.exec(github)!
    expect((yield* run("webhook", "run", id!, "--sample")).stdout).toContain("Accepted as ")
    const [, words, target] = /\nTo send each answer back:\n {2}.*?(destination add .+)<file> --target '(.+)'\n/.exec(
      github
    )!
    const token = join(yield* temporaryFolder, "token")
    writeFileSync(token, "github_pat_1")
    const added = yield* json(...words!.trim().split(" "), token, "--target", target!)
    expect(added.destination).toMatchObject({ kind: "github", target: recipes.github.destination!.target })

    const alertmanager = (yield* create("--from", "alertmanager")).stdout
    const [, url] = /^ {2}(http\S+)$/m.exec(alertmanager)!
    const [, config] = /\n\S+\.yml:\n([\s\S]*?)\n\nNotes:/.exec(alertmanager)!
    expect(config).toContain(url)
    expect(config).not.toMatch(/TRIGGER_URL|SECRET/)

    const linear = (yield* create("--from", "linear")).stdout
    expect(linear).toMatch(/\nLinear shows its secret later\. Then: .+ webhook edit \S+ --secret-file <file>\n/)
    expect(linear).not.toContain("The secret is shown only once")

    const trello = yield* create("--from", "trello")
    expect(trello).toMatchObject({ code: 2, stdout: "" })
    expect(trello.stderr).toContain("missing option --secret-file file, with a secret of Trello")
    const slack = yield* create("--from", "slack-mention")
    expect(slack.stderr).toContain("missing option --secret-file file, with a secret of Slack\n")
    const unknown = yield* create("--from", "githb")
    expect(unknown.stderr).toContain("--from must be one of github, github-comment, gitlab, ")
  })
})

describe("a webhook on the command line", () => {
  it.live("is run with a key, by name or ID, with variables or a request", function* () {
    const { webhook } = yield* json(
      "webhook",
      "create",
      "--name",
      "greet",
      "--team",
      "demo",
      "--template",
      "Hi {{name}}"
    )
    const variables = ["--var", "name=you"]
    expect((yield* run("webhook", "run", "greet", ...variables, "--wait")).stdout).toBe("Hi you\n")
    expect(yield* json("webhook", "run", webhook.id, ...variables)).toMatchObject({ status: "accepted" })
    expect((yield* run("webhook", "run", "greet", "--sample", "--wait")).stdout).toBe("Hi your name\n")
    // Variables are named as they are typed.
    expect(yield* run("webhook", "run", "greet", "--wait")).toEqual({
      code: 1,
      stdout: "",
      stderr: "Placeholders of the template have no value\n  --var name  has no value\n"
    })
    const { errors } = JSON.parse((yield* run("webhook", "run", "greet", "--json")).stderr)
    expect(errors).toEqual([{ pointer: "/variables/name", detail: "has no value" }])
    expect((yield* run("webhook", "run", "greet", "--sample", ...variables)).code).toBe(2)
    expect((yield* run("webhook", "run", "greet", "--payload", "{}")).stderr).toContain("use --var or --json-var")
    expect((yield* run("webhook", "run", "nothing")).stderr).toContain('No webhook has the id or name "nothing"')

    yield* json(
      "webhook",
      "create",
      "--name",
      "push",
      "--team",
      "demo",
      "--template",
      "{{payload.ref}}",
      "--input",
      "payload"
    )
    expect((yield* run("webhook", "run", "push", "--payload", '{"ref":"main"}', "--wait")).stdout).toBe("main\n")
  })

  it.live("is run with the key of a caller, who may not read it, by its ID", function* () {
    const { webhook } = yield* json(
      "webhook",
      "create",
      "--name",
      "called",
      "--team",
      "demo",
      "--template",
      "Hi {{name}}"
    )
    const { key } = yield* json("key", "create", "--name", "caller", "--role", "caller")
    const call = (...words: ReadonlyArray<string>) =>
      runWith({ ADMIN_API_KEY: key, WEBHOOK_TRIGGER_URL: address() }, ...words)
    expect((yield* call("webhook", "run", webhook.id, "--var", "name=you", "--wait")).stdout).toBe("Hi you\n")
    expect((yield* call("run", "show", "last", "--json")).stdout).toContain('"status": "success"')
    expect((yield* call("webhook", "run", "called", "--var", "name=you")).code).toBe(1)
  })

  it.live("has faults that name the options, where the server names fields", function* () {
    const wrong = ["--name", "x", "--template", "Review {{branch", "--accept-if", "a ==", "--team", "nobody"]
    const { stderr } = yield* run("webhook", "create", ...wrong)
    for (const option of ["--template", "--team", "--accept-if"])
      expect(stderr).toMatch(new RegExp(`^ {2}${option} {2}`, "m"))
  })
})
