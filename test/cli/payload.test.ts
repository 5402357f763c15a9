/** Whole requests on the command line: what `trigger` sends of them, and `webhook preview` shows. */
import { createHmac } from "node:crypto"
import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import * as Server from "../http/Server.ts"
import { describe, expect, it } from "../support/It.ts"
import { temporaryFolder } from "../support/private.ts"
import { runWith } from "./CommandLine.ts"
import * as Program from "./Program.ts"

const push = '{"ref": "refs/heads/main", "commits": [{"message": "ü"}]}'
const template = "{{headers.x-github-event?}} {{payload.ref}} {{payload.commits.0.message}} {{query.env?}}"

const start = Effect.gen(function* () {
  const server = yield* Server.start()
  yield* server.team("ops")
  const run = (...words: ReadonlyArray<string>) =>
    runWith({ ADMIN_API_KEY: Server.adminKey, WEBHOOK_TRIGGER_URL: server.origin }, ...words)
  const create = (name: string, prompt_template: string, more: object) =>
    server.webhook("ops", prompt_template, { name, ...more })
  return { ...server, run, create }
})

describe("a whole request on the command line", () => {
  it.live("is previewed and sent as given: JSON, a file, a form or a text, with headers and query", function* () {
    const { create, run } = yield* start
    const { token } = yield* create("push", template, { input: "payload" })
    const file = `${yield* temporaryFolder}/push.json`
    writeFileSync(file, push)
    const more = ["--header", "X-GitHub-Event: push", "--query", "env=live one"]
    for (const payload of [push, `@${file}`]) {
      expect(yield* run("webhook", "preview", "push", "--payload", payload, ...more)).toEqual({
        ...{ code: 0, stderr: "" },
        stdout: "push refs/heads/main ü live one\n"
      })
      expect(yield* run("trigger", token, "--wait", "--payload", payload, ...more)).toEqual({
        ...{ code: 0, stderr: "" },
        stdout: "echo: push refs/heads/main ü live one\n"
      })
    }
    const form = ["--payload", "ref=a%26b&commits=x", "--header", "content-type: application/x-www-form-urlencoded"]
    expect((yield* run("webhook", "preview", "push", ...form)).stderr).toBe(
      "Without a value: payload.commits.0.message\n"
    )
    yield* create("main", "{{payload.ref}}", { input: "payload", accept_if: "payload.ref == 'refs/heads/main'" })
    expect(yield* run("webhook", "preview", "main", "--payload", '{"ref":"refs/tags/1"}')).toEqual({
      ...{ code: 0, stderr: "" },
      stdout:
        "Ignored: this input does not pass the filter (accept_if). `payload.ref == 'refs/heads/main'` does not hold: `payload.ref` is \"refs/tags/1\".\n"
    })
    yield* create("lists", "{{payload}} {{query.tag}}", { input: "payload" })
    const text = ["--payload", "plain", "--header", "Content-Type: text/plain"]
    expect((yield* run("webhook", "preview", "lists", ...text, "--query", "tag=a", "--query", "tag=b")).stdout).toBe(
      'plain ["a","b"]\n'
    )
  })

  it.live("is read from standard input, byte for byte", function* () {
    const { create, origin } = yield* start
    const { token } = yield* create("push", "{{payload.ref}} {{payload.commits.0.message}}", { input: "payload" })
    const file = `${yield* temporaryFolder}/push.json`
    writeFileSync(file, push)
    const piped = (words: string) =>
      Program.shell(
        `cat '${file}' | ADMIN_API_KEY=${Server.adminKey} WEBHOOK_TRIGGER_URL=${origin} '${process.execPath}' '${Program.program}' ${words} --payload -`
      )
    const [preview, sent] = yield* Effect.all([piped("webhook preview push"), piped(`trigger ${token} --wait`)], {
      concurrency: 2
    })
    expect(preview).toEqual({ code: 0, stdout: "refs/heads/main ü\n", stderr: "" })
    expect(sent).toEqual({ code: 0, stdout: "echo: refs/heads/main ü\n", stderr: "" })
  })

  it.live("carries a signature, and prints what the webhook replies to a command", function* () {
    const { create, run } = yield* start
    const verification = { preset: "github" }
    const { token } = yield* create("signed", "{{payload.ref}}", { input: "payload", verification, secret: "s3cret" })
    const signature = createHmac("sha256", "s3cret").update(push).digest("hex")
    const signed = ["--wait", "--payload", push, "--header", `X-Hub-Signature-256: sha256=${signature}`]
    expect((yield* run("trigger", token, ...signed)).stdout).toBe("echo: refs/heads/main\n")
    const stranger = yield* run("trigger", token, "--payload", push)
    expect(stranger).toMatchObject({ code: 1, stdout: "" })
    expect(stranger.stderr).toContain("a signature or a secret")
    expect(stranger.stderr).not.toContain("ADMIN_API_KEY")

    const slack = { preset: "slack", reply_text: "On it." }
    const command = yield* create("command", "{{payload.text}}", {
      ...{ input: "payload", verification: slack, secret: "s3cret" }
    })
    const body = "command=%2Freview&text=main"
    const at = Math.floor(Date.now() / 1000)
    const v0 = createHmac("sha256", "s3cret").update(`v0:${at}:${body}`).digest("hex")
    const headers = [
      "Content-Type: application/x-www-form-urlencoded",
      `X-Slack-Request-Timestamp: ${at}`,
      `X-Slack-Signature: v0=${v0}`
    ].flatMap((header) => ["--header", header])
    expect((yield* run("trigger", command.token, "--payload", body, ...headers)).stdout).toBe("On it.\n")
  })

  it.live("is warned of, where a template names what is not signed of it", function* () {
    const { run } = yield* start
    const secret = `${yield* temporaryFolder}/secret`
    writeFileSync(secret, "s3cret")
    const created = yield* run(
      ...["webhook", "create", "--name", "warned", "--team", "ops", "--template", template, "--input", "payload"],
      ...["--verification", "github", "--verification-option", "unique_for_seconds=60", "--secret-file", secret]
    )
    expect(created).toMatchObject({ code: 0, stderr: "" })
    const warnings = created.stdout.split("\n").filter((line) => line.startsWith("Warning: "))
    expect(warnings).toEqual([
      expect.stringContaining("fewer than 16 characters"),
      expect.stringContaining("(`headers.x-github-event`, `query.env`)")
    ])
    const shown = yield* run("webhook", "show", "warned")
    for (const text of [...warnings, "github, unique_for_seconds=60"]) expect(shown.stdout).toContain(text)
    const edited = yield* run("webhook", "edit", "warned", "--template", "{{payload.ref}}")
    expect(edited.stdout.split("\n").filter((line) => line.startsWith("Warning: "))).toEqual(warnings.slice(0, 1))
  })

  it.live("is refused by a webhook for variables, and variables by one for requests, with what to give", function* () {
    const { create, run } = yield* start
    const plain = yield* create("plain", "{{text}}", {})
    const whole = yield* create("whole", template, { input: "payload" })
    for (const [words, code, says] of [
      [["webhook", "preview", "plain", "--payload", push], 2, "use --var or --json-var instead of --payload"],
      [["webhook", "preview", "whole", "--var", "ref=x"], 2, "use --payload instead of variables"],
      [["trigger", plain.token, "--payload", push], 1, "use --var or --json-var instead of --payload"],
      [["trigger", whole.token, "--var", "ref=x"], 1, "use --payload instead of variables"],
      [["trigger", whole.token, "--var", "ref=x", "--payload", push], 2, "not both"],
      [["trigger", whole.token, "--header", "a: b"], 2, "--header and --query require --payload"],
      [["trigger", whole.token, "--payload", "{"], 2, "The body is not JSON."],
      [["trigger", whole.token, "--payload", "@/none/such"], 2, "/none/such"],
      [["trigger", whole.token, "--payload", push, "--header", "x"], 2, "--header takes name:value"],
      [["trigger", whole.token, "--payload", push, "--header", "a: b", "--header", "A: c"], 2, "given twice"],
      [["trigger", whole.token, "--payload", push, "--query", "=x"], 2, "--query takes name=value"],
      [["trigger", whole.token, "--payload", push, "--query", "wait=true"], 2, "use --wait"]
    ] as const) {
      const ended = yield* run(...words)
      expect({ code: ended.code, stdout: ended.stdout }, words.join(" ")).toEqual({ code, stdout: "" })
      expect(ended.stderr).toContain(says)
    }
    // What else is missing is named as ever.
    expect((yield* run("trigger", plain.token, "--var", "a=b")).stderr).not.toContain("--payload")
    expect((yield* run("trigger", whole.token, "--payload", "{}")).stderr).not.toContain("--var")
  })

  it.live("that the webhook has kept is listed, and previewed by its id, or as the last one", function* () {
    const { create, run } = yield* start
    yield* create("none", "{{payload}}", { input: "payload" })
    expect((yield* run("webhook", "preview", "none", "--received", "last")).stderr).toContain("--store-requests all")
    expect((yield* run("webhook", "refused", "none", "--accepted")).stdout).toContain(
      "No requests in the last 24 hours"
    )
    const { token } = yield* create("kept", "{{payload.ref}} {{headers.x-event?}}", {
      ...{ input: "payload", store_requests: "all" }
    })
    const send = (body: string) => run("trigger", token, "--payload", body, "--header", "x-event: push")
    yield* send('{"ref":"one"}')
    const refused = yield* run("webhook", "refused", "kept", "--accepted")
    const [, request_id] = / 202 +accepted +([0-9a-f-]{36}) /.exec(refused.stdout)!
    yield* send('{"ref":"two"}')
    const preview = (...words: ReadonlyArray<string>) => run("webhook", "preview", "kept", ...words)
    expect((yield* preview("--received", "last")).stdout).toBe("two push\n")
    for (const id of [request_id!, request_id!.slice(-8)]) {
      expect((yield* preview("--received", id)).stdout).toBe("one push\n")
    }
    expect((yield* preview("--received", "none")).stderr).toBe("The webhook has no stored request none\n")
    expect((yield* preview("--received", "last", "--payload", "{}")).code).toBe(2)
    expect((yield* run("webhook", "refused", "kept")).stdout).toBe("No rejected requests in the last 24 hours.\n")

    yield* run("webhook", "edit", "kept", "--accept-if", "payload.ref == 'main'")
    yield* send('{"ref":"three"}')
    const ignored = yield* run("webhook", "refused", "kept", "--ignored")
    expect(ignored.stdout).toMatch(/ 200 +ignored .* does not hold: `payload.ref` is "three"\. /)
    expect(ignored.stdout).toContain("\nIgnored in the last 24 hours: 1\n")

    const plain = yield* create("plain", "{{a}}", { store_requests: "all" })
    yield* run("trigger", plain.token, "--var", "a=b")
    expect((yield* run("webhook", "preview", "plain", "--received", "last")).stdout).toBe("b\n")
  })
})
