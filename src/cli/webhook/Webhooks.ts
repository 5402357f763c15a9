import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import type { Client } from "../../api/Client.ts"
import { QueueCancelled } from "../../api/run/Runs.ts"
import { WebhookWithToken } from "../../api/webhook/Tokens.ts"
import { WebhookList } from "../../api/webhook/Webhooks.ts"
import { Webhook } from "../../domain/webhook/Webhook.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, call, done, show } from "../Connection.ts"
import { about } from "../Help.ts"
import { printable, table, time, yesNo } from "../Output.ts"
import { cancelledText, queuedText } from "../run/Outcome.ts"
import { replayDescription, replayMatching, replayOptions, showReplayed } from "../run/Replays.ts"
import { preview } from "./Preview.ts"
import { refused } from "./ReceivedRequests.ts"
import { templateCommands } from "./Templates.ts"
import { endOldToken, regenerate } from "./Tokens.ts"
import { draftOf, draftOptions, editOf, editOptions } from "./WebhookOptions.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"
import { describeToken, describeWebhook } from "./WebhookText.ts"

const list = Command.make("list", adminOptions, (options) =>
  Effect.gen(function* () {
    const webhooks = yield* call(options, (client) => client.webhooks.list())
    yield* show(options, WebhookList, webhooks, ({ data }) =>
      data.length === 0
        ? "No webhooks yet. Create one: webhook-trigger webhook create --help"
        : table(
            ["ID", "NAME", "TEAM", "ENABLED", "LAST TRIGGERED", "TOKEN"],
            data.map((one) => [
              one.id,
              one.name,
              one.team,
              one.enabled && one.paused_at !== undefined ? "paused" : yesNo(one.enabled),
              time(one.last_triggered_at),
              one.token_hint
            ])
          )
    )
  })
).pipe(Command.withDescription("List the webhooks, by name"))

const create = Command.make("create", { draft: draftOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const payload = yield* draftOf(options.draft)
    const created = yield* call(options, (client) => client.webhooks.create({ payload }))
    yield* show(options, WebhookWithToken, created, () =>
      describeToken(`Webhook ${printable(created.webhook.name)} (${created.webhook.id}) created.`, created)
    )
  })
).pipe(
  Command.withDescription(
    about("Create a webhook and print its trigger URL with the secret token, once", {
      details: "Set the prompt with --template or --template-file. {{name}} in the prompt is replaced by a variable.",
      examples: [
        "webhook-trigger webhook create --name review --team deploy --template 'Review {{branch}} of {{repo}}'",
        "webhook-trigger webhook create --name nightly --team deploy --template-file prompt.md --timeout 600"
      ]
    })
  )
)

/** The server has the defaults of settings. */
const withServer = (client: Client, webhook: Webhook) =>
  Effect.map(client.overview.server(), (server) => [webhook, server] as const)

const showOne = Command.make("show", { webhook, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const [found, server] = yield* callOnWebhook(options, withServer)
    yield* show(options, Webhook, found, (webhook) => describeWebhook(webhook, server))
  })
).pipe(Command.withDescription("Show one webhook"))

const edit = Command.make("edit", { webhook, edit: editOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const payload = yield* editOf(options.edit)
    const [edited, server] = yield* callOnWebhook(options, (client, { id }) =>
      Effect.flatMap(client.webhooks.edit({ path: { id }, headers: {}, payload }), (edited) =>
        withServer(client, edited)
      )
    )
    yield* show(options, Webhook, edited, (webhook) => describeWebhook(webhook, server))
  })
).pipe(
  Command.withDescription(
    about("Edit a webhook; the changes apply to new requests", {
      details: "Fields that are not given do not change.",
      examples: [
        "webhook-trigger webhook edit review --template-file prompt.md",
        "webhook-trigger webhook edit review --timeout 600 --max-concurrent default",
        "webhook-trigger webhook edit review --verification github --secret-file secret.txt"
      ]
    })
  )
)

const name = Options.text("name").pipe(
  Options.withDescription("The new webhook's name; default: the same name with (copy)"),
  Options.optional
)

const duplicate = Command.make("duplicate", { webhook, name, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const payload = Option.match(options.name, { onNone: () => ({}), onSome: (name) => ({ name }) })
    const created = yield* callOnWebhook(options, (client, { id }) =>
      client.webhooks.duplicate({ path: { id }, payload })
    )
    yield* show(options, WebhookWithToken, created, () =>
      describeToken(`Webhook ${printable(created.webhook.name)} (${created.webhook.id}) created.`, created)
    )
  })
).pipe(Command.withDescription("Create a webhook with the same settings and print its trigger URL, once"))

const toggle = (name: "enable" | "disable", description: string) =>
  Command.make(name, { webhook, ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const payload = { enabled: name === "enable" }
      const edited = yield* callOnWebhook(options, (client, { id }) =>
        client.webhooks.edit({ path: { id }, headers: {}, payload })
      )
      yield* show(options, Webhook, edited, () => `Webhook ${printable(edited.name)} ${name}d.`)
    })
  ).pipe(Command.withDescription(description))

const resume = Command.make("resume", { webhook, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const resumed = yield* callOnWebhook(options, (client, { id }) => client.webhooks.resume({ path: { id } }))
    yield* show(options, Webhook, resumed, ({ name }) => `Webhook ${printable(name)} resumed.`)
  })
).pipe(Command.withDescription("Resume a webhook that was paused because its runs failed in a row"))

const remove = Command.make("delete", { webhook, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* callOnWebhook(options, (client, { id, name }) =>
      Effect.zipRight(
        confirm(options.yes, `Delete the webhook ${printable(name)} and all its runs, permanently?`),
        client.webhooks.delete({ path: { id }, headers: {} })
      )
    )
    yield* done(options, "Webhook and its history deleted.")
  })
).pipe(Command.withDescription("Delete a webhook and all its runs, permanently"))

const cancelQueued = Command.make("cancel-queued", { webhook, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const result = yield* callOnWebhook(options, (client, { id, name }) =>
      Effect.gen(function* () {
        const queued = yield* client.webhooks.cancelQueued({ path: { id }, urlParams: { dry_run: "true" } })
        yield* confirm(options.yes, `Cancel all queued runs of the webhook ${printable(name)}: ${queuedText(queued)}?`)
        return yield* client.webhooks.cancelQueued({ path: { id }, urlParams: {} })
      })
    )
    yield* show(options, QueueCancelled, result, cancelledText)
  })
).pipe(
  Command.withDescription(
    about("Cancel all queued runs of a webhook", { details: "Also cancels the retries of its failed runs." })
  )
)

const replay = Command.make("replay", { webhook, ...replayOptions }, (options) =>
  Effect.gen(function* () {
    const replayed = yield* callOnWebhook(options, (client, { id, name }) =>
      replayMatching(client, options, { webhook_id: id }, `the webhook ${printable(name)}`)
    )
    yield* showReplayed(options, replayed)
  })
).pipe(
  Command.withDescription(
    replayDescription("a webhook", "webhook-trigger webhook replay review --from 2026-01-02T00:00:00Z --status error")
  )
)

export const webhooks: Group = {
  name: "webhook",
  about: "Webhooks: prompts with a team and a secret trigger URL.",
  commands: [
    list,
    create,
    showOne,
    edit,
    duplicate,
    ...templateCommands,
    toggle("enable", "Enable a webhook"),
    toggle("disable", "Disable a webhook: requests get 404; accepted runs continue"),
    resume,
    regenerate,
    endOldToken,
    refused,
    preview,
    cancelQueued,
    replay,
    remove
  ]
}
