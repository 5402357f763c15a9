import { Options } from "@effect/cli"
import { Effect, Option, Record, Schema } from "effect"
import { faultsOf } from "../../domain/SchemaFaults.ts"
import { teamNameAccepts } from "../../domain/TeamName.ts"
import { WebhookDraft, WebhookEdit } from "../../domain/webhook/Webhook.ts"
import { accepts, valueOf, type WebhookSetting } from "../../domain/webhook/WebhookSettingKinds.ts"
import { type WebhookSettingName, webhookSettings } from "../../domain/webhook/WebhookSettings.ts"
import { usage } from "../Failure.ts"
import { fileOf, readText } from "../Files.ts"
import * as VerificationOptions from "./VerificationOptions.ts"

const name = Options.text("name").pipe(Options.withDescription("The webhook's name"))
const team = Options.text("team").pipe(
  Options.withPseudoName("name"),
  Options.withDescription("The team that receives the prompts")
)
const templateText = Options.text("template").pipe(
  Options.withDescription("The prompt, with placeholders: 'Review {{branch}}'")
)
const templateFile = Options.text("template-file").pipe(
  Options.withPseudoName("file"),
  Options.withDescription("A file with the prompt; `-` reads it from standard input"),
  Options.mapEffect(fileOf("template-file", readText))
)
const template = Options.orElse(templateText, templateFile)
const settings = Record.map(webhookSettings, ({ default: usual, help, option, value }: WebhookSetting) =>
  Options.text(option).pipe(
    Options.withPseudoName(value),
    Options.withDescription(`${help}; \`default\` is ${usual}`),
    Options.optional
  )
)
const disabled = Options.boolean("disabled").pipe(
  Options.withDescription("Create the webhook disabled: requests get 404 until it is enabled")
)

export const draftOptions = {
  name,
  team,
  template,
  settings,
  verification: VerificationOptions.draftOptions,
  disabled
}
export const editOptions = {
  name: Options.optional(name),
  team: Options.optional(team),
  template: Options.optional(template),
  settings,
  verification: VerificationOptions.editOptions
}

type Text = Option.Option<string>

/** Invalid text stays unchanged; the webhook's schema rejects it. */
const settingValue = (setting: WebhookSetting, text: string): unknown =>
  text === "default" ? null : valueOf(setting, text)

const grouped = (text: string) => text.replace(/(?<![\d.])\d{4,}/g, (digits) => Number(digits).toLocaleString("en"))

/** The error message for each field. */
const messages: Readonly<Record<string, string>> = {
  name: "--name must be 1 to 255 characters",
  team: `--team ${teamNameAccepts}`,
  prompt_template: "--template and --template-file must have 1 to 65,536 characters",
  secret: "--secret-file must hold 1 to 1000 characters on one line",
  ...Record.map(
    webhookSettings,
    (setting: WebhookSetting) => `--${setting.option} ${grouped(accepts(setting))}, or \`default\``
  )
}

const decode = <A, I>(schema: Schema.Schema<A, I>, values: unknown) =>
  Schema.decodeUnknown(schema, { errors: "all" })(values).pipe(
    Effect.mapError((error) => {
      const details = faultsOf(error.issue).map(({ path: [field, option], detail }) =>
        field === "verification"
          ? `--verification${option === undefined || option === "preset" ? "" : `-option ${String(option)}`} ${detail}`
          : (messages[String(field)] ?? `${String(field)} ${detail}`)
      )
      return usage(
        "the webhook is invalid",
        [...new Set(details)].map((detail) => ({ pointer: "", detail }))
      )
    })
  )

interface SharedOptions {
  readonly settings: { readonly [Name in WebhookSettingName]: Text }
  readonly verification?: VerificationOptions.VerificationOptions
}

const sharedOf = (options: SharedOptions) =>
  Effect.map(VerificationOptions.fieldsOf(options.verification), (verification) => ({
    ...Record.getSomes(
      Record.map(options.settings, (text, name) =>
        Option.map(text, (text) => settingValue(webhookSettings[name], text))
      )
    ),
    ...verification
  }))

export const draftOf = (
  options: SharedOptions & {
    readonly name: string
    readonly team: string
    readonly template: string
    readonly disabled: boolean
  }
) =>
  Effect.flatMap(sharedOf(options), (shared) =>
    decode(WebhookDraft, {
      name: options.name,
      team: options.team,
      prompt_template: options.template,
      // Absent settings have their defaults.
      ...Record.filter(shared as Record<string, unknown>, (value) => value !== null),
      ...(options.disabled && { enabled: false })
    })
  )

export const editOf = (
  options: SharedOptions & { readonly name: Text; readonly team: Text; readonly template: Text }
) =>
  Effect.flatMap(sharedOf(options), (shared) => {
    const changes = {
      ...Record.getSomes({ name: options.name, team: options.team, prompt_template: options.template }),
      ...shared
    }
    return Object.keys(changes).length === 0
      ? Effect.fail(usage("nothing to change; see webhook-trigger webhook edit --help"))
      : decode(WebhookEdit, changes)
  })
