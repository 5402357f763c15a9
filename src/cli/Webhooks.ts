import { Command } from "@effect/cli"
import { Effect, Schema } from "effect"
import { Preview, WebhookWithToken } from "../api/Webhooks.ts"
import { Webhook } from "../domain/Webhook.ts"
import { ask, done, managed, show } from "./Connection.ts"
import { fields, printable, section, table, time } from "./Output.ts"
import { variableOptions, variablesOf } from "./Variables.ts"
import { draftOf, draftOptions, editOf, editOptions } from "./WebhookOptions.ts"
import { findWebhook, webhook } from "./WebhookRef.ts"

const words = (webhook: Webhook) =>
  fields({
    id: webhook.id,
    name: webhook.name,
    team: webhook.team,
    enabled: webhook.enabled ? "yes" : "no",
    variables: webhook.variables.join(", ") || "none",
    timeout: webhook.timeout_seconds === undefined ? "default" : `${webhook.timeout_seconds} s`,
    "at once": webhook.max_concurrent ?? "default",
    token: webhook.token_hint,
    created: time(webhook.created_at),
    changed: time(webhook.updated_at),
    "last triggered": time(webhook.last_triggered_at) ?? "never"
  }) + section("Prompt template", webhook.prompt_template)

const withToken = (title: string, made: typeof WebhookWithToken.Type) => {
  const sample = Object.fromEntries(made.webhook.variables.map((name) => [name, "..."]))
  const body = JSON.stringify({ variables: sample }).replaceAll("'", "'\\''")
  return [
    title,
    "",
    "The trigger URL holds the secret token and is shown only now:",
    "",
    `  ${made.trigger_url}`,
    "",
    "Try it:",
    "",
    `  curl -X POST '${made.trigger_url}?wait=true' \\`,
    `    -H 'Content-Type: application/json' -d '${body}'`
  ].join("\n")
}

const list = Command.make("list", managed, (options) =>
  Effect.gen(function* () {
    const webhooks = yield* ask(options, (client) => client.webhooks.list())
    yield* show(options, Schema.Array(Webhook), webhooks, () =>
      webhooks.length === 0
        ? "No webhooks yet. Make one: webhook-trigger webhook create --help"
        : table(
            ["ID", "NAME", "TEAM", "ENABLED", "TOKEN", "LAST TRIGGERED"],
            webhooks.map((one) => [
              one.id,
              one.name,
              one.team,
              one.enabled ? "yes" : "no",
              one.token_hint,
              time(one.last_triggered_at)
            ])
          )
    )
  })
).pipe(Command.withDescription("List the webhooks, by name"))

const create = Command.make("create", { ...managed, draft: draftOptions }, (options) =>
  Effect.gen(function* () {
    const payload = yield* draftOf(options.draft)
    const made = yield* ask(options, (client) => client.webhooks.create({ payload }))
    yield* show(options, WebhookWithToken, made, () =>
      withToken(`Webhook ${printable(made.webhook.name)} (${made.webhook.id}) created.`, made)
    )
  })
).pipe(Command.withDescription("Make a webhook; prints its token, once"))

const showOne = Command.make("show", { ...managed, webhook }, (options) =>
  Effect.gen(function* () {
    const found = yield* ask(options, (client) => findWebhook(client, options.webhook))
    yield* show(options, Webhook, found, words)
  })
).pipe(Command.withDescription("Show one webhook"))

const edit = Command.make("edit", { ...managed, edit: editOptions, webhook }, (options) =>
  Effect.gen(function* () {
    const payload = yield* editOf(options.edit)
    const edited = yield* ask(options, (client) =>
      Effect.flatMap(findWebhook(client, options.webhook), ({ id }) => client.webhooks.edit({ path: { id }, payload }))
    )
    yield* show(options, Webhook, edited, words)
  })
).pipe(Command.withDescription("Change a webhook; holds from the next trigger on"))

const toggle = (name: "enable" | "disable", description: string) =>
  Command.make(name, { ...managed, webhook }, (options) =>
    Effect.gen(function* () {
      const payload = { enabled: name === "enable" }
      const edited = yield* ask(options, (client) =>
        Effect.flatMap(findWebhook(client, options.webhook), ({ id }) =>
          client.webhooks.edit({ path: { id }, payload })
        )
      )
      yield* show(options, Webhook, edited, () => `Webhook ${printable(edited.name)} ${name}d.`)
    })
  ).pipe(Command.withDescription(description))

const remove = Command.make("delete", { ...managed, webhook }, (options) =>
  ask(options, (client) =>
    Effect.flatMap(findWebhook(client, options.webhook), ({ id }) => client.webhooks.delete({ path: { id } }))
  ).pipe(Effect.zipRight(done(options, "Webhook and its history deleted.")))
).pipe(Command.withDescription("Delete a webhook and all its runs, for good"))

const regenerate = Command.make("regenerate", { ...managed, webhook }, (options) =>
  Effect.gen(function* () {
    const made = yield* ask(options, (client) =>
      Effect.flatMap(findWebhook(client, options.webhook), ({ id }) => client.webhooks.regenerate({ path: { id } }))
    )
    yield* show(options, WebhookWithToken, made, () =>
      withToken(`Webhook ${printable(made.webhook.name)} has a new token; the old one is dead.`, made)
    )
  })
).pipe(Command.withDescription("Replace a webhook's token; prints the new one, once"))

const preview = Command.make("preview", { ...managed, variables: variableOptions, webhook }, (options) =>
  Effect.gen(function* () {
    const variables = yield* variablesOf(options.variables)
    const answer = yield* ask(options, (client) =>
      Effect.flatMap(findWebhook(client, options.webhook), ({ id }) =>
        client.webhooks.preview({ path: { id }, payload: { variables } })
      )
    )
    yield* show(options, Preview, answer, ({ missing, prompt }) =>
      prompt === undefined ? `Without a value: ${missing.join(", ")}` : printable(prompt)
    )
  })
).pipe(Command.withDescription("Show the prompt that these variables give; runs nothing"))

export const webhooks = Command.make("webhook").pipe(
  Command.withDescription("Webhooks: create, list, show, edit, enable, disable, delete, regenerate, preview"),
  Command.withSubcommands([
    create,
    list,
    showOne,
    edit,
    toggle("enable", "Let a webhook take triggers again"),
    toggle("disable", "Answer a webhook's triggers with 404; runs already accepted go on"),
    remove,
    regenerate,
    preview
  ])
)
