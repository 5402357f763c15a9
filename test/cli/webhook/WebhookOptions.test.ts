import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Record } from "effect"
import { draftOf, editOf } from "../../../src/cli/webhook/WebhookOptions.ts"
import { accepts, textOf, type WebhookSetting } from "../../../src/domain/webhook/WebhookSettingKinds.ts"
import { webhookSettingNames, webhookSettings } from "../../../src/domain/webhook/WebhookSettings.ts"
import { invalid, valid } from "../../support/SettingSamples.ts"
import { runWith } from "../CommandLine.ts"

const none = { template: Option.none() }
const each = <A>(value: A) => Record.map(webhookSettings, () => value)

/** A value for every setting, and what is typed for it. */
const values = Record.map(webhookSettings, (setting: WebhookSetting) => valid(setting))
const typed = Record.map(values, (value) => Option.some(textOf(value)))

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
