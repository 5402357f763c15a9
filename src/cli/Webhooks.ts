import { Command } from "@effect/cli"
import { Effect, Schema } from "effect"
import { Preview, WebhookWithToken } from "../api/Webhooks.ts"
import { Webhook } from "../domain/Webhook.ts"
import type { Group } from "./Commands.ts"
import { confirm, yes } from "./Confirm.ts"
import { ask, done, managed, show } from "./Connection.ts"
import { about } from "./Help.ts"
import { fields, printable, section, table, time } from "./Output.ts"
import { variableOptions, variablesOf } from "./Variables.ts"
import { draftOf, draftOptions, editOf, editOptions } from "./WebhookOptions.ts"
import { askAbout, webhook } from "./WebhookRef.ts"

const words = (webhook: Webhook) =>
  [
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
    }),
    section("Prompt template", webhook.prompt_template)
  ].join("\n")

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

const create = Command.make("create", { draft: draftOptions, ...managed }, (options) =>
  Effect.gen(function* () {
    const payload = yield* draftOf(options.draft)
    const made = yield* ask(options, (client) => client.webhooks.create({ payload }))
    yield* show(options, WebhookWithToken, made, () =>
      withToken(`Webhook ${printable(made.webhook.name)} (${made.webhook.id}) created.`, made)
    )
  })
).pipe(
  Command.withDescription(
    about("Make a webhook; prints its trigger URL with the secret token, once", {
      details: "The prompt is given with --template or --template-file; {{name}} in it is replaced by a variable.",
      examples: [
        "webhook-trigger webhook create --name review --team deploy --template 'Review {{branch}} of {{repo}}'",
        "webhook-trigger webhook create --name nightly --team deploy --template-file prompt.md --timeout 600"
      ]
    })
  )
)

const showOne = Command.make("show", { webhook, ...managed }, (options) =>
  Effect.gen(function* () {
    const found = yield* askAbout(options, (_, webhook) => Effect.succeed(webhook))
    yield* show(options, Webhook, found, words)
  })
).pipe(Command.withDescription("Show one webhook"))

const edit = Command.make("edit", { webhook, edit: editOptions, ...managed }, (options) =>
  Effect.gen(function* () {
    const payload = yield* editOf(options.edit)
    const edited = yield* askAbout(options, (client, { id }) => client.webhooks.edit({ path: { id }, payload }))
    yield* show(options, Webhook, edited, words)
  })
).pipe(
  Command.withDescription(
    about("Change a webhook; holds from the next trigger on", {
      details: "What is not given stays as it is.",
      examples: [
        "webhook-trigger webhook edit review --template-file prompt.md",
        "webhook-trigger webhook edit review --timeout 600 --max-concurrent default"
      ]
    })
  )
)

const toggle = (name: "enable" | "disable", description: string) =>
  Command.make(name, { webhook, ...managed }, (options) =>
    Effect.gen(function* () {
      const payload = { enabled: name === "enable" }
      const edited = yield* askAbout(options, (client, { id }) => client.webhooks.edit({ path: { id }, payload }))
      yield* show(options, Webhook, edited, () => `Webhook ${printable(edited.name)} ${name}d.`)
    })
  ).pipe(Command.withDescription(description))

const remove = Command.make("delete", { webhook, yes, ...managed }, (options) =>
  Effect.gen(function* () {
    yield* askAbout(options, (client, { id, name }) =>
      Effect.zipRight(
        confirm(options.yes, `Delete the webhook ${printable(name)} and all its runs, for good?`),
        client.webhooks.delete({ path: { id } })
      )
    )
    yield* done(options, "Webhook and its history deleted.")
  })
).pipe(Command.withDescription("Delete a webhook and all its runs, for good"))

const regenerate = Command.make("regenerate", { webhook, yes, ...managed }, (options) =>
  Effect.gen(function* () {
    const made = yield* askAbout(options, (client, { id, name, token_hint }) =>
      Effect.zipRight(
        confirm(
          options.yes,
          `Replace the token ${token_hint} of ${printable(name)}? Who uses it gets 404 from then on.`
        ),
        client.webhooks.regenerate({ path: { id } })
      )
    )
    yield* show(options, WebhookWithToken, made, () =>
      withToken(`Webhook ${printable(made.webhook.name)} has a new token; the old one is dead.`, made)
    )
  })
).pipe(Command.withDescription("Replace a webhook's token, at once; prints the new trigger URL, once"))

const preview = Command.make("preview", { webhook, variables: variableOptions, ...managed }, (options) =>
  Effect.gen(function* () {
    const variables = yield* variablesOf(options.variables)
    const answer = yield* askAbout(options, (client, { id }) =>
      client.webhooks.preview({ path: { id }, payload: { variables } })
    )
    yield* show(options, Preview, answer, ({ missing, prompt }) =>
      prompt === undefined ? `Without a value: ${missing.join(", ")}` : printable(prompt)
    )
  })
).pipe(
  Command.withDescription(
    about("Show the prompt that variables give; runs nothing", {
      examples: ['webhook-trigger webhook preview review --var branch=main --json-var \'labels=["a","b"]\'']
    })
  )
)

export const webhooks: Group = {
  name: "webhook",
  about: "Webhooks: stored prompts, each with a team and a secret URL that triggers it.",
  commands: [
    list,
    create,
    showOne,
    edit,
    toggle("enable", "Let a webhook take triggers again"),
    toggle("disable", "Answer a webhook's triggers with 404; runs already accepted go on"),
    regenerate,
    preview,
    remove
  ]
}
