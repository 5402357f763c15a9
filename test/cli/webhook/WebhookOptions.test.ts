import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Record } from "effect"
import { draftOf, editOf } from "../../../src/cli/webhook/WebhookOptions.ts"
import { accepts, textOf, type Value, type WebhookSetting } from "../../../src/domain/webhook/WebhookSettingKinds.ts"
import { webhookSettingNames, webhookSettings } from "../../../src/domain/webhook/WebhookSettings.ts"
import { runWith } from "../CommandLine.ts"

const none = { template: Option.none() }
const each = <A>(value: A) => Record.map(webhookSettings, () => value)
const valid = (setting: WebhookSetting): Value => {
  switch (setting.kind) {
    case "whole number":
      return 7
    case "amount":
      return 2.5
    case "text":
      return ["7/min", "review"].find((text) => new RegExp(setting.pattern).test(text))!
    case "choice":
      return setting.words[0]
    case "expression":
      return "length(text) > `7`"
    case "template":
      return "{{text}}"
    case "window":
      return { key: "alert.name", within: 30 }
    case "switch":
      return true
    case "json":
      return { type: "object" }
    case "networks":
      return ["10.0.0.0/8", "::1"]
    case "retries":
      return { max_retries: 3, backoff_seconds: 60 }
  }
}

/** A value for every setting, and what is typed for it. */
const values = Record.map(webhookSettings, (setting: WebhookSetting) => valid(setting))
const typed = Record.map(values, (value) => Option.some(textOf(value)))

const invalid = (setting: WebhookSetting): ReadonlyArray<string> => {
  switch (setting.kind) {
    case "whole number":
      return [String(setting.min - 1), String(setting.max + 1), "1.5", "many", ""]
    case "amount":
      return ["0", String(setting.max + 1), "1,5", "$2", ""]
    case "text":
      return ["7", "7/minute", "/min", "x".repeat(5_000), ""].filter((text) => !new RegExp(setting.pattern).test(text))
    case "choice":
      return ["neither", ""]
    case "expression":
    case "template":
      return ["x".repeat(5_000), ""]
    case "window":
      return ["branch", "branch 0", "branch 4000", "{branch} 30", "30", ""]
    case "switch":
      return ["yes", "1", ""]
    case "json":
      return ["{", "[]", "1", "null", `{"title":"${"x".repeat(70_000)}"}`, ""]
    case "networks":
      return ["10.0.0", "10.0.0.0/33", "fe80::1%eth0", "host.example", "1.2.3.4,x", ","]
    case "retries":
      return ["3", "0/60", "11/60", "3/0", "3/86401", "3/60s", "/60", ""]
  }
}

describe("a webhook's optional settings on the command line", () => {
  it.effect("each have an option, explained in the help of create and edit", () =>
    Effect.gen(function* () {
      for (const command of ["create", "edit"]) {
        const { stdout } = yield* runWith({}, "webhook", command, "--help")
        const text = stdout.replace(/\s+/g, " ")
        for (const { default: usual, help, option, value } of Object.values(webhookSettings)) {
          expect(text).toContain(`--${option} ${value} ${help}; \`default\` is ${usual}`)
        }
      }
    })
  )

  it.effect("refuse an invalid value by the option's name, with what it accepts", () =>
    Effect.gen(function* () {
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
  )

  it.effect("become the fields of a new webhook, where `default` leaves them out", () =>
    Effect.gen(function* () {
      const options = {
        ...{ from: Option.none(), name: Option.some("x"), team: Option.some("a"), template: Option.some("Hello") },
        verification: { preset: Option.none(), options: [], secret: Option.none() },
        disabled: false
      }
      const fields = { name: "x", team: "a", prompt_template: "Hello" }
      expect(yield* draftOf({ ...options, settings: typed })).toEqual({ ...fields, ...values })
      expect(yield* draftOf({ ...options, settings: each(Option.some("default")) })).toEqual(fields)
      expect(yield* draftOf({ ...options, settings: each(Option.none()) })).toEqual(fields)
    })
  )

  it.effect("become the fields of an edit, where `default` is null", () =>
    Effect.gen(function* () {
      const options = { ...none, name: Option.none(), team: Option.none() }
      expect(yield* editOf({ ...options, settings: typed })).toEqual(values)
      expect(yield* editOf({ ...options, settings: each(Option.some("default")) })).toEqual(each(null))
      const nothing = yield* Effect.flip(editOf({ ...options, settings: each(Option.none()) }))
      expect(nothing.detail).toContain("nothing to change")
    })
  )
})

describe("what a webhook asks its callers for, on the command line,", () => {
  const options = { ...none, name: Option.none(), team: Option.none(), settings: each(Option.none<string>()) }
  const asked = (preset: string, more: ReadonlyArray<string> = []) => ({
    ...options,
    verification: { preset: Option.some(preset), options: more, secret: Option.some("s=1") }
  })

  it.effect("becomes a preset with its options, and a secret", () =>
    Effect.gen(function* () {
      expect(yield* editOf(asked("hmac", ["header=X-Signature", "prefix=v1=", "tolerance_seconds=60"]))).toEqual({
        verification: { preset: "hmac", header: "X-Signature", prefix: "v1=", tolerance_seconds: 60 },
        secret: "s=1"
      })
      const unset = { preset: Option.none(), options: [], secret: Option.none() }
      const off = yield* editOf({ ...options, verification: { ...unset, preset: Option.some("none") } })
      expect(off).toEqual({ verification: null })
      expect(yield* editOf({ ...options, verification: { ...unset, end: true } })).toEqual({ keep_old_secret: false })
    })
  )

  it.effect("is refused by the option's name, with what it accepts", () =>
    Effect.gen(function* () {
      const faults = (preset: string, ...more: ReadonlyArray<string>) =>
        Effect.map(Effect.flip(editOf(asked(preset, more))), ({ faults, detail }) => JSON.stringify([faults, detail]))
      expect(yield* faults("githup")).toContain("--verification must be one of github, gitlab")
      expect(yield* faults("hmac")).toContain("--verification-option header is required with the preset hmac")
      expect(yield* faults("github", "header=x")).toContain(
        "--verification-option header is no option of the preset github"
      )
      expect(yield* faults("github", "x")).toContain("takes name=value")
      for (const command of ["create", "edit"]) {
        const { stdout } = yield* runWith({}, "webhook", command, "--help")
        expect(stdout).toContain("--secret-file")
      }
    })
  )
})
