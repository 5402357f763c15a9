import { Effect, Option, Record, Schema } from "effect"
import { Flag } from "effect/cli"
import { faultsOf } from "../../domain/SchemaFaults.ts"
import { teamNameAccepts } from "../../domain/TeamName.ts"
import { WebhookDraft, WebhookEdit } from "../../domain/webhook/Webhook.ts"
import { accepts, valueOf, type WebhookSetting } from "../../domain/webhook/WebhookSettingKinds.ts"
import { type WebhookSettingName, webhookSettings } from "../../domain/webhook/WebhookSettings.ts"
import { type Recipe, randomSecret } from "../../recipes/Recipe.ts"
import { isRecipeName, type RecipeName, recipeNames, recipes, serviceOf } from "../../recipes/Recipes.ts"
import { Failure, usage, wrongUsage } from "../Failure.ts"
import { fileOf, readText } from "../Files.ts"
import * as VerificationOptions from "./VerificationOptions.ts"

const name = Flag.String("name").pipe(Flag.withDescription("The webhook's name"))
const team = Flag.String("team").pipe(
  Flag.withMetavar("name"),
  Flag.withDescription("The team that receives the prompts")
)
const templateText = Flag.String("template").pipe(
  Flag.withDescription("The prompt, with placeholders: 'Review {{branch}}'")
)
const templateFile = Flag.String("template-file").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription("A file with the prompt; `-` reads it from standard input"),
  Flag.mapEffect(fileOf("template-file", readText))
)
const template = Flag.orElse(templateText, templateFile)
const settings = Record.map(webhookSettings, ({ default: usual, help, option, value }: WebhookSetting) =>
  Flag.String(option).pipe(
    Flag.withMetavar(value),
    Flag.withDescription(`${help}; \`default\` is ${usual}`),
    Flag.optional
  )
)
const disabled = Flag.Boolean("disabled").pipe(
  Flag.withDescription("Create the webhook disabled: requests get 404 until it is enabled")
)

const from = Flag.String("from").pipe(
  Flag.withMetavar("recipe"),
  Flag.withDescription("Start from the recipe for a service, such as github; other options override it"),
  Flag.filterMap(
    Option.liftPredicate(isRecipeName),
    `--from must be one of ${recipeNames.join(", ")}; see webhook-trigger webhook recipes`
  ),
  Flag.optional
)

export const draftOptions = {
  from,
  name: Flag.optional(name),
  team: Flag.optional(team),
  template: Flag.optional(template),
  settings,
  verification: VerificationOptions.draftOptions,
  disabled
}
export const editOptions = {
  name: Flag.optional(name),
  team: Flag.optional(team),
  template: Flag.optional(template),
  settings,
  verification: VerificationOptions.editOptions
}

type Text = Option.Option<string>

/** Invalid text stays unchanged; the webhook's schema rejects it. */
const settingValue = (setting: WebhookSetting, text: string): unknown =>
  text === "default" ? null : valueOf(setting, text)

const grouped = (text: string) => text.replace(/(?<![\w.])\d{4,}/g, (digits) => Number(digits).toLocaleString("en"))

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

/** The option for a field that the server refuses. */
const optionOf = (pointer: string): string => {
  const [, field = "", member] = pointer.split("/")
  if (field === "verification" && member !== undefined) return `--verification-option ${member}`
  return messages[field]?.split(" ")[0] ?? `--${field}`
}

/** Faults of fields are reported by the options that set them. */
export const byOption = (failure: Failure): Failure =>
  new Failure({
    ...failure,
    faults: (failure.faults ?? []).map(({ detail, pointer }) => ({ pointer: optionOf(pointer), detail }))
  })

const decode = <A, I>(schema: Schema.Codec<A, I>, values: unknown) =>
  Schema.decodeUnknownEffect(schema, { errors: "all" })(values).pipe(
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

type DraftOptions = Required<SharedOptions> & {
  readonly from: Option.Option<RecipeName>
  readonly name: Text
  readonly team: Text
  readonly template: Text
  readonly disabled: boolean
}

/** What neither the options nor the recipe say. */
const missingIn = ({ from, name, settings, team, template, verification }: DraftOptions): ReadonlyArray<string> => {
  const recipe: Recipe | undefined = Option.isSome(from) ? recipes[from.value] : undefined
  const isSecretKnown =
    recipe?.secret === "known before" && Option.isNone(verification.preset) && Option.isNone(settings.shares)
  return [
    ...(Option.isNone(name) && recipe === undefined ? ["--name text"] : []),
    ...(Option.isNone(team) ? ["--team name"] : []),
    ...(Option.isNone(template) && recipe === undefined ? ["--template text or --template-file file"] : []),
    ...(isSecretKnown && Option.isNone(verification.secret)
      ? [`--secret-file file, with a secret of ${serviceOf(recipe)}`]
      : [])
  ].map((option) => `missing option ${option}`)
}

/**
 * A secret is made for the recipe's verification, unless the service has one already. The webhook whose URL is shared
 * verifies the requests itself.
 */
const recipeFields = (recipe: Recipe, { isShared, isVerified }: { isShared: boolean; isVerified: boolean }) => {
  const { name, prompt_template, settings, verification } = recipe
  const secret = isVerified && recipe.secret !== "known before" ? { secret: randomSecret(recipe) } : {}
  return { name, prompt_template, ...settings, ...(!isShared && { verification, ...secret }) }
}

export const draftOf = Effect.fnUntraced(function* (options: DraftOptions) {
  const missing = missingIn(options)
  if (missing.length > 0) return yield* wrongUsage("webhook-trigger webhook create", missing)
  const shared: Record<string, unknown> = yield* sharedOf(options)
  const given: Record<string, unknown> = {
    ...(Option.isSome(options.from) &&
      recipeFields(recipes[options.from.value], {
        isShared: typeof shared.shares === "string",
        isVerified: shared.verification === undefined
      })),
    ...Record.getSomes({ name: options.name, team: options.team, prompt_template: options.template }),
    ...shared,
    ...(options.disabled && { enabled: false })
  }
  // Absent settings have their defaults.
  return yield* decode(
    WebhookDraft,
    Record.filter(given, (value) => value !== null)
  )
})

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
