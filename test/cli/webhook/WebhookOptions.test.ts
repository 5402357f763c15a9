import { writeFileSync } from "node:fs"
import { Effect, Record } from "effect"
import { accepts, textOf, type WebhookSetting } from "../../../src/domain/webhook/WebhookSettingKinds.ts"
import { webhookSettingNames, webhookSettings } from "../../../src/domain/webhook/WebhookSettings.ts"
import { describe, expect, it } from "../../support/It.ts"
import { receiver } from "../../support/Receiver.ts"
import { invalid, valid } from "../../support/SettingSamples.ts"
import { runWith } from "../CommandLine.ts"
import { newFolder } from "../Program.ts"

/** A value for every setting, and the options for it. */
const values = Record.map(webhookSettings, (setting: WebhookSetting) => valid(setting))
const each = (textFor: (setting: WebhookSetting) => string) =>
  Object.values<WebhookSetting>(webhookSettings).map((setting) => `--${setting.option}=${textFor(setting)}`)
const typed = each((setting) => textOf(valid(setting)))
const defaults = each(() => "default")

const time = "2026-01-02T03:04:05.000Z"
const webhook = {
  ...{
    id: valid(webhookSettings.shares),
    name: "x",
    team: "a",
    prompt_template: "Hello",
    variables: [],
    enabled: true
  },
  ...{ version: 1, created_at: time, updated_at: time }
}

/** What a command sends to a server with this webhook, or how it is refused. */
const sent = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const path = `/api/webhooks/${webhook.id}`
  const { port, received } = yield* receiver({
    [path]: (response, { method }) =>
      response
        .writeHead(method === "GET" ? 200 : 500, { "content-type": "application/json" })
        .end(method === "GET" ? JSON.stringify(webhook) : "")
  })
  const { stderr } = yield* runWith({ WEBHOOK_TRIGGER_URL: `http://127.0.0.1:${port}` }, "webhook", ...words)
  const change = received.find(({ method }) => method !== "GET")
  return change === undefined ? stderr : JSON.parse(change.body)
})
const create = (...words: ReadonlyArray<string>) =>
  sent("create", "--name", "x", "--team", "a", "--template", "Hello", ...words)
const edit = (...words: ReadonlyArray<string>) => sent("edit", String(webhook.id), ...words)

describe("a webhook's optional settings on the command line", () => {
  it.effect("each have an option, explained in the help of create and edit", function* () {
    for (const command of ["create", "edit"]) {
      const { stdout } = yield* runWith({}, "webhook", command, "--help")
      const text = stdout.replace(/\s+/g, " ")
      for (const setting of Object.values<WebhookSetting>(webhookSettings)) {
        const { default: usual, help, option, value, written } = setting
        const words = written === undefined ? help : `${help}; ${written}`
        expect(text).toContain(`--${option} ${value} ${words}; \`default\` is ${usual}`)
      }
    }
  })

  it.effect("refuse an invalid value by the option's name, with what it accepts", function* () {
    const draft = ["webhook", "create", "--name", "x", "--team", "a", "--template", "x"]
    for (const name of webhookSettingNames) {
      const setting: WebhookSetting = webhookSettings[name]
      for (const value of invalid(setting)) {
        const { code, stderr } = yield* runWith({}, ...draft, `--${setting.option}`, value)
        expect(code, `${setting.option} ${value}`).toBe(2)
        const words = stderr.replaceAll(/(?<=\d),(?=\d)/g, "")
        expect(words).toContain(
          `--${setting.option} ${accepts(setting).replaceAll(/(?<=\d),(?=\d)/g, "")}, or \`default\``
        )
      }
    }
  })

  it.live("become the fields of a new webhook, where `default` leaves them out", function* () {
    const fields = { name: "x", team: "a", prompt_template: "Hello" }
    expect(yield* create(...typed)).toEqual({ ...fields, ...values })
    expect(yield* create(...defaults)).toEqual(fields)
    expect(yield* create()).toEqual(fields)
  })

  it.live("become the fields of an edit, where `default` is null", function* () {
    expect(yield* edit(...typed)).toEqual(values)
    expect(yield* edit(...defaults)).toEqual(Record.map(webhookSettings, () => null))
    expect(yield* edit()).toContain("nothing to change")
  })
})

describe("what a webhook asks its callers for, on the command line,", () => {
  const asked = (preset: string, ...options: ReadonlyArray<string>) =>
    edit("--verification", preset, ...options.flatMap((option) => ["--verification-option", option]))

  it.live("becomes a preset with its options, and a secret", function* () {
    const file = yield* newFolder
    writeFileSync(file, "s=1\n")
    const verification = ["hmac", "header=X-Signature", "prefix=v1=", "tolerance_seconds=60"] as const
    expect(yield* asked(...verification)).toEqual({
      verification: { preset: "hmac", header: "X-Signature", prefix: "v1=", tolerance_seconds: 60 }
    })
    expect(yield* edit("--secret-file", file)).toEqual({ secret: "s=1" })
    expect(yield* asked("none")).toEqual({ verification: null })
    expect(yield* edit("--end-old-secret")).toEqual({ keep_old_secret: false })
  })

  it.live("is refused by the option's name, with what it accepts", function* () {
    expect(yield* asked("githup")).toContain("--verification must be one of github, gitlab")
    expect(yield* asked("hmac")).toContain("--verification-option header is required with the preset hmac")
    expect(yield* asked("github", "header=x")).toContain(
      "--verification-option header is no option of the preset github"
    )
    expect(yield* asked("github", "x")).toContain("takes name=value")
    for (const command of ["create", "edit"]) {
      const { stdout } = yield* runWith({}, "webhook", command, "--help")
      expect(stdout).toContain("--secret-file")
    }
  })
})
