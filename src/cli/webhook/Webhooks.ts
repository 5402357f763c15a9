import { Effect, Option, Record, Struct } from "effect"
import { Flag } from "effect/cli"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { type Recipe, randomSecret } from "../../recipes/Recipe.ts"
import { isRecipeName, recipeNames, recipes, serviceOf } from "../../recipes/Recipes.ts"
import { flags } from "../Call.ts"
import { type At, derived, group, local } from "../Command.ts"
import { wrongUsage } from "../Failure.ts"
import { listText, print, printable, printJson, shortIdOf, table, time } from "../Output.ts"
import { webhookArgument } from "../Rules.ts"
import { cancelledText, queuedText, replayMany } from "../run/Many.ts"
import { preview, refused, runWebhook } from "./Requests.ts"
import { templateCommands } from "./Templates.ts"
import { describeSetup, describeToken, describeWebhook } from "./WebhookText.ts"

const list = derived("list", "webhooks.list", {
  text: listText<Webhook>(
    {
      ...{ NAME: "name", ID: shortIdOf, TEAM: "team" },
      ENABLED: ({ enabled, paused_at }) => (enabled && paused_at !== undefined ? "paused" : enabled),
      ...{ "LAST TRIGGERED": "last_triggered_at", TOKEN: ({ token_hint }) => token_hint ?? "shared" }
    },
    "No webhooks yet. Create one: webhook-trigger webhook create --help"
  )
})

const listRecipes = local(
  "recipes",
  {
    about: "List the recipes: webhooks that are prepared for a service",
    details: "Each is a start for webhook create --from. No server is needed.",
    examples: ["webhook-trigger webhook create --from github --team review"]
  },
  { json: flags.json },
  ({ json }) => {
    const data = recipeNames.map((name) => ({
      name,
      ...Struct.pick(recipes[name], ["label", "summary", "documentation"])
    }))
    const rows = data.map(({ label, name, summary }) => [name, label, summary])
    return json ? printJson({ data }) : print(table(["NAME", "SERVICE", "SUMMARY"], rows))
  }
)

const ofRecipe = {
  from: Flag.String("from").pipe(
    Flag.withMetavar("recipe"),
    Flag.withDescription("Start from the recipe for a service, such as github; other options override it"),
    Flag.optional
  ),
  disabled: Flag.Boolean("disabled").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Create the webhook disabled: requests get 404 until it is enabled"),
    Flag.withDefault(false)
  )
}

const recipeOf = (from: Option.Option<string>): Recipe | undefined =>
  Option.isSome(from) && isRecipeName(from.value) ? recipes[from.value] : undefined

/**
 * The fields that a recipe has in place of those that are not given. A secret is made for its verification, unless the service
 * has one already. The webhook whose URL is shared verifies the requests itself.
 */
const recipeFields = (recipe: Recipe, given: Readonly<Record<string, unknown>>) => {
  const { name, prompt_template, settings, verification } = recipe
  const secret =
    given.verification === undefined && recipe.secret !== "known before" ? { secret: randomSecret(recipe) } : {}
  return { name, prompt_template, ...settings, ...(typeof given.shares !== "string" && { verification, ...secret }) }
}

/** The secret that was made for a new webhook, if it was. */
const secretOf = ({ given, more, request }: At<"webhooks.create", typeof ofRecipe>): string | undefined =>
  recipeOf(more.from)?.secret === "made here" && given("secret-file").length === 0 ? request.payload.secret : undefined

const create = derived("create", "webhooks.create", {
  about: "Create a webhook and print its trigger URL with the secret token, once",
  details:
    "Requires --team, and --from or both --name and a prompt (--template or --template-file). {{name}} in the prompt is replaced by a variable.",
  examples: [
    "webhook-trigger webhook create --from github --team review",
    "webhook-trigger webhook create --name review --team deploy --template 'Review {{branch}} of {{repo}}'",
    "webhook-trigger webhook create --name nightly --team deploy --template-file prompt.md --timeout 600"
  ],
  more: ofRecipe,
  prepare: ({ payload, ...raw }, { disabled, from }) => {
    const recipe = recipeOf(from)
    if (Option.isSome(from) && recipe === undefined) {
      const names = recipeNames.join(", ")
      return Effect.fail(wrongUsage([`--from must be one of ${names}; see webhook-trigger webhook recipes`]))
    }
    const hasOwn = payload.verification !== undefined || payload.shares !== undefined || payload.secret !== undefined
    if (recipe?.secret === "known before" && !hasOwn) {
      return Effect.fail(wrongUsage([`missing option --secret-file file, with a secret of ${serviceOf(recipe)}`]))
    }
    const draft = { ...(recipe && recipeFields(recipe, payload)), ...payload, ...(disabled && { enabled: false }) }
    // Absent settings have their defaults.
    return Effect.succeed({ ...raw, payload: Record.filter<string, unknown>(draft, (value) => value !== null) })
  },
  // A secret that was made here is shown once, like the token.
  also: (_, at) => {
    const secret = secretOf(at)
    return secret === undefined ? {} : { secret }
  },
  text: (created, at) => {
    const title = `Webhook ${printable(created.webhook.name)} (${created.webhook.id}) created.`
    const recipe = recipeOf(at.more.from)
    return recipe === undefined ? describeToken(title, created) : describeSetup(title, created, recipe, secretOf(at))
  }
})

const toggle = (name: "enable" | "disable", about: string) =>
  derived(name, "webhooks.edit", {
    about,
    set: { payload: { enabled: name === "enable" } },
    text: (webhook) => `Webhook ${printable(webhook.name)} ${name}d.`
  })

export const webhooks = group("webhook", "Webhooks: prompts with a team and a secret trigger URL.", [
  list,
  listRecipes,
  create,
  runWebhook,
  derived("show", "webhooks.show", {
    beside: (client) => client.overview.server(),
    text: (webhook, _, server) => describeWebhook(webhook, server)
  }),
  derived("edit", "webhooks.edit", {
    examples: [
      "webhook-trigger webhook edit review --template-file prompt.md",
      "webhook-trigger webhook edit review --timeout 600 --max-concurrent default",
      "webhook-trigger webhook edit review --verification github --secret-file secret.txt"
    ],
    beside: (client) => client.overview.server(),
    text: (webhook, _, server) => describeWebhook(webhook, server)
  }),
  derived("duplicate", "webhooks.duplicate", {
    text: (created) =>
      describeToken(`Webhook ${printable(created.webhook.name)} (${created.webhook.id}) created.`, created)
  }),
  ...templateCommands,
  toggle("enable", "Enable a webhook"),
  toggle("disable", "Disable a webhook: requests get 404; accepted runs continue"),
  derived("resume", "webhooks.resume", {
    text: ({ name }) => `Webhook ${printable(name)} resumed.`
  }),
  derived("regenerate", "webhooks.regenerate", {
    ask: ({ found: { webhook }, request }) =>
      `Replace the token ${webhook.token_hint ?? ""} of ${printable(webhook.name)}? Its callers get 404 ${
        (request.query.overlap_seconds ?? 0) > 0 ? "after the overlap" : "immediately"
      }.`,
    text: (regenerated) => {
      const { name, old_token_valid_until: until } = regenerated.webhook
      const old = until === undefined ? "no longer works" : `works until ${time(until)}`
      return describeToken(`Webhook ${printable(name)} has a new token; the old one ${old}.`, regenerated)
    }
  }),
  derived("end-old-token", "webhooks.endOldToken", {
    text: () => "The old token no longer works."
  }),
  refused,
  preview,
  derived("cancel-queued", "webhooks.cancelQueued", {
    ask: ({ found, send }) =>
      Effect.map(
        send({ query: { dry_run: "true" } }),
        (queued) => `Cancel all queued runs of the webhook ${printable(found.webhook.name)}: ${queuedText(queued)}?`
      ),
    text: cancelledText
  }),
  replayMany(
    "a webhook",
    "webhook-trigger webhook replay review --from 2026-01-02T00:00:00Z --status error",
    { webhook_id: webhookArgument },
    ({ found }) => `the webhook ${printable(found.webhook.name)}`
  ),
  derived("delete", "webhooks.delete", {
    ask: ({ found }) => `Delete the webhook ${printable(found.webhook.name)} and all its runs, permanently?`,
    text: () => "Webhook and its history deleted."
  })
])
