import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Record } from "effect"
import { draftOf, editOf } from "../../src/cli/WebhookOptions.ts"
import { webhookSettingNames, webhookSettings } from "../../src/domain/WebhookSettings.ts"
import { runWith } from "./CommandLine.ts"

const none = { template: Option.none(), templateFile: Option.none() }
const each = <A>(value: A) => Record.map(webhookSettings, () => value)

describe("a webhook's optional settings on the command line", () => {
  it.effect("each have an option, explained in the help of create and edit", () =>
    Effect.gen(function* () {
      for (const command of ["create", "edit"]) {
        const { stdout } = yield* runWith({}, "webhook", command, "--help")
        const text = stdout.replace(/\s+/g, " ")
        for (const { help, option, serverSetting, value } of Object.values(webhookSettings)) {
          expect(text).toContain(`--${option} ${value} ${help}; \`default\` is the server's ${serverSetting}`)
        }
      }
    })
  )

  it.effect("refuse an invalid value by the option's name, with what it accepts", () =>
    Effect.gen(function* () {
      const draft = ["webhook", "create", "--name", "x", "--team", "a", "--template", "x"]
      for (const name of webhookSettingNames) {
        const { max, min, option } = webhookSettings[name]
        for (const value of [String(min - 1), String(max + 1), "1.5", "many", ""]) {
          const { code, stderr } = yield* runWith({}, ...draft, `--${option}`, value)
          expect(code, `${option} ${value}`).toBe(2)
          expect(stderr).toContain(`--${option} must be a whole number`)
          expect(stderr).toContain(`from ${min} to ${max.toLocaleString("en")}, or \`default\``)
        }
      }
    })
  )

  it.effect("become the fields of a new webhook, where `default` leaves them out", () =>
    Effect.gen(function* () {
      const options = { ...none, template: Option.some("Hello"), name: "x", team: "a", disabled: false }
      const fields = { name: "x", team: "a", prompt_template: "Hello" }
      expect(yield* draftOf({ ...options, settings: each(Option.some("7")) })).toEqual({ ...fields, ...each(7) })
      expect(yield* draftOf({ ...options, settings: each(Option.some("default")) })).toEqual(fields)
      expect(yield* draftOf({ ...options, settings: each(Option.none()) })).toEqual(fields)
    })
  )

  it.effect("become the fields of an edit, where `default` is null", () =>
    Effect.gen(function* () {
      const options = { ...none, name: Option.none(), team: Option.none() }
      expect(yield* editOf({ ...options, settings: each(Option.some("7")) })).toEqual(each(7))
      expect(yield* editOf({ ...options, settings: each(Option.some("default")) })).toEqual(each(null))
      const nothing = yield* Effect.flip(editOf({ ...options, settings: each(Option.none()) }))
      expect(nothing.detail).toContain("nothing to change")
    })
  )
})
