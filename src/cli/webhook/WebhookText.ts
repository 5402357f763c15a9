/** A webhook as text. */
import type { Server } from "../../api/Overview.ts"
import { curlExample, secretVariable } from "../../api/run/CurlExample.ts"
import type { WebhookWithToken } from "../../api/webhook/Tokens.ts"
import { kindOf } from "../../domain/delivery/DestinationKind.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { textOf, type WebhookSetting } from "../../domain/webhook/WebhookSettingKinds.ts"
import { type WebhookSettingName, webhookSettingNames, webhookSettings } from "../../domain/webhook/WebhookSettings.ts"
import { type Recipe, withValues } from "../../recipes/Recipe.ts"
import { serviceOf } from "../../recipes/Recipes.ts"
import { exampleFor } from "../../recipes/SampleFor.ts"
import { fields, printable, quantity, section, time, timeAndAge, yesNo } from "../Output.ts"
import { ownCommand } from "../OwnCommand.ts"

/** Undefined if the default does not depend on the server. */
const defaultOn = (server: Server, name: WebhookSettingName): number | undefined => {
  const setting = webhookSettings[name]
  return "serverDefault" in setting ? server[setting.serverDefault] : undefined
}

/** The values that are in effect, as in `120 s` or `300 s (default)`. */
const settingsOf = (webhook: Webhook, server: Server) =>
  Object.fromEntries(
    webhookSettingNames.map((name) => {
      const setting: WebhookSetting = webhookSettings[name]
      const unit = setting.kind === "whole number" ? setting.unit : undefined
      const value = webhook[name]
      const effective = value ?? defaultOn(server, name)
      const text = effective === undefined ? setting.default : quantity(textOf(effective), unit)
      return [setting.label.toLowerCase(), value === undefined ? `${text} (default)` : text]
    })
  )

const verificationFields = ({ verification, secret_hint, secret_set_at, verified_at, old_secret_hint }: Webhook) => {
  if (verification === undefined) return { verification: "token only" }
  const { preset, ...options } = verification
  return {
    verification: [preset, ...Object.entries(options).map(([name, value]) => `${name}=${value}`)].join(", "),
    ...(secret_set_at && { secret: `${secret_hint}, set ${time(secret_set_at)}` }),
    "first verified": verified_at ? timeAndAge(verified_at) : "no request yet",
    ...(old_secret_hint && { "old secret": `${old_secret_hint}, still accepted` })
  }
}

/** One line per warning. */
const warningsIn = ({ warnings = [] }: Webhook) => warnings.map(({ detail }) => `\nWarning: ${printable(detail)}`)

export const describeWebhook = (webhook: Webhook, server: Server) =>
  [
    fields({
      id: webhook.id,
      name: webhook.name,
      team: webhook.team,
      enabled: yesNo(webhook.enabled),
      ...(webhook.paused_at && { paused: `since ${time(webhook.paused_at)}, automatically: ${webhook.paused_reason}` }),
      variables: webhook.variables.join(", ") || "none",
      ...settingsOf(webhook, server),
      ...verificationFields(webhook),
      token: webhook.token_hint,
      ...(webhook.old_token_valid_until && {
        "old token": `${webhook.old_token_hint}, valid until ${time(webhook.old_token_valid_until)}, ${
          webhook.old_token_used_at
            ? `last used ${time(webhook.old_token_used_at)} from ${webhook.old_token_used_from}`
            : "not used since"
        }`
      }),
      created: timeAndAge(webhook.created_at),
      changed: timeAndAge(webhook.updated_at),
      ...(webhook.next_scheduled_at && { "next scheduled": time(webhook.next_scheduled_at) }),
      "last triggered": timeAndAge(webhook.last_triggered_at) ?? "never"
    }),
    section("Prompt template", webhook.prompt_template),
    ...warningsIn(webhook)
  ].join("\n")

const tokenText = (title: string, url: string | undefined) =>
  url === undefined
    ? `${title}\n\nIt shares the URL of another webhook, and is offered each of its verified requests.`
    : `${title}\n\nThe trigger URL contains the secret token and is shown only once:\n\n  ${url}`

/** The command that sends the webhook's answers back to the service. */
const addDestination = ({ id }: Webhook, { kind, target }: NonNullable<Recipe["destination"]>) => {
  const token = kindOf(kind).token && " --token-file <file>"
  return `${ownCommand} destination add ${id} --kind ${kind}${token ?? ""} --target '${target}'`
}

/** A new webhook of a recipe's service: what to do there. A `secret` was made for it. */
export const describeSetup = (
  title: string,
  { trigger_url, webhook }: typeof WebhookWithToken.Type,
  recipe: Recipe,
  secret: string | undefined
) => {
  const { config, notes, steps } = recipe
  const service = serviceOf(recipe)
  if (trigger_url === undefined) return [tokenText(title, trigger_url), ...warningsIn(webhook)].join("\n")
  return [
    tokenText(title, trigger_url),
    ...(secret === undefined ? [] : [`\nThe secret is shown only once, too:\n\n  ${secret}`]),
    ...(recipe.secret === "shown after"
      ? [`\n${service} shows its secret later. Then: ${ownCommand} webhook edit ${webhook.id} --secret-file <file>`]
      : []),
    section(`At ${service}:`, steps.map((step, index) => `${index + 1}. ${step}`).join("\n")),
    ...(config === undefined
      ? []
      : [section(`${config.file}:`, withValues(config.text, trigger_url, secret ?? "SECRET").trimEnd())]),
    ...(recipe.destination ? [section("To send each answer back:", addDestination(webhook, recipe.destination))] : []),
    section("Notes:", notes.map((note) => `- ${note}`).join("\n")),
    `\nTry it with a sample request: ${ownCommand} webhook run ${webhook.id} --sample`,
    ...warningsIn(webhook)
  ].join("\n")
}

/** A webhook with its trigger URL, which is shown only once. */
export const describeToken = (title: string, { trigger_url, webhook }: typeof WebhookWithToken.Type) => {
  if (trigger_url === undefined) return [tokenText(title, trigger_url), ...warningsIn(webhook)].join("\n")
  const example = curlExample(webhook, {
    sample: exampleFor(webhook),
    target: (search) => `'${trigger_url}${search}'`,
    flags: ["-X POST"],
    waits: true,
    pretty: false
  })
  return [
    tokenText(title, trigger_url),
    "",
    webhook.verification === undefined ? "Try it:" : `Try it, with the secret in ${secretVariable}:`,
    "",
    ...example.split("\n").map((line) => `  ${line}`),
    ...warningsIn(webhook)
  ].join("\n")
}
