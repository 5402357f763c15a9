import { Command, Options } from "@effect/cli"
import { Effect, Option, Schema } from "effect"
import { maxOverlapSeconds } from "../../api/Overlap.ts"
import { curlExample, secretVariable } from "../../api/run/CurlExample.ts"
import { QueueCancelled } from "../../api/run/Runs.ts"
import { Preview, WebhookWithToken } from "../../api/Webhooks.ts"
import { Webhook } from "../../domain/webhook/Webhook.ts"
import { textOf, type WebhookSetting } from "../../domain/webhook/WebhookSettingKinds.ts"
import { webhookSettingNames, webhookSettings } from "../../domain/webhook/WebhookSettings.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, call, done, show } from "../Connection.ts"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { about } from "../Help.ts"
import { fields, printable, quantity, section, table, time, yesNo } from "../Output.ts"
import { cancelledText, waitingText } from "../run/Outcome.ts"
import { replayDescription, replayMatching, replayOptions, showReplayed } from "../run/Replays.ts"
import { inputOf, inputOptions, sampleFor } from "../run/TriggerInput.ts"
import { validated, wholeNumber } from "../Validated.ts"
import { received, refused, sampleOfReceived } from "./ReceivedRequests.ts"
import { templateCommands } from "./Templates.ts"
import { shown } from "./VerificationOptions.ts"
import { draftOf, draftOptions, editOf, editOptions } from "./WebhookOptions.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"

const settingsOf = (webhook: Webhook) =>
  Object.fromEntries(
    webhookSettingNames.map((name) => {
      const setting: WebhookSetting = webhookSettings[name]
      const value = webhook[name]
      const unit = setting.kind === "whole number" ? setting.unit : undefined
      return [setting.label.toLowerCase(), value === undefined ? "default" : quantity(textOf(value), unit)]
    })
  )

/** One line for each warning, after the requested output. */
const warningsIn = ({ warnings = [] }: Webhook) => warnings.map(({ detail }) => `\nWarning: ${printable(detail)}`)

const describe = (webhook: Webhook) =>
  [
    fields({
      id: webhook.id,
      name: webhook.name,
      team: webhook.team,
      enabled: yesNo(webhook.enabled),
      variables: webhook.variables.join(", ") || "none",
      ...settingsOf(webhook),
      ...shown(webhook),
      token: webhook.token_hint,
      ...(webhook.old_token_valid_until && {
        "old token": `${webhook.old_token_hint}, valid until ${time(webhook.old_token_valid_until)}, ${
          webhook.old_token_used_at
            ? `last used ${time(webhook.old_token_used_at)} from ${webhook.old_token_used_from}`
            : "not used since"
        }`
      }),
      created: time(webhook.created_at),
      changed: time(webhook.updated_at),
      "last triggered": time(webhook.last_triggered_at) ?? "never"
    }),
    section("Prompt template", webhook.prompt_template),
    ...warningsIn(webhook)
  ].join("\n")

const withToken = (title: string, { trigger_url, webhook }: typeof WebhookWithToken.Type) => {
  const example = curlExample(webhook, {
    target: (search) => `'${trigger_url}${search}'`,
    flags: ["-X POST"],
    waits: true,
    pretty: false
  })
  return [
    title,
    "",
    "The trigger URL holds the secret token and is shown only now:",
    "",
    `  ${trigger_url}`,
    "",
    webhook.verification === undefined ? "Try it:" : `Try it, with the secret in ${secretVariable}:`,
    "",
    ...example.split("\n").map((line) => `  ${line}`),
    ...warningsIn(webhook)
  ].join("\n")
}

const list = Command.make("list", adminOptions, (options) =>
  Effect.gen(function* () {
    const webhooks = yield* call(options, (client) => client.webhooks.list())
    yield* show(options, Schema.Array(Webhook), webhooks, () =>
      webhooks.length === 0
        ? "No webhooks yet. Create one: webhook-trigger webhook create --help"
        : table(
            ["ID", "NAME", "TEAM", "ENABLED", "TOKEN", "LAST TRIGGERED"],
            webhooks.map((one) => [
              one.id,
              one.name,
              one.team,
              yesNo(one.enabled),
              one.token_hint,
              time(one.last_triggered_at)
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
      withToken(`Webhook ${printable(created.webhook.name)} (${created.webhook.id}) created.`, created)
    )
  })
).pipe(
  Command.withDescription(
    about("Create a webhook; prints its trigger URL with the secret token, once", {
      details: "The prompt is given with --template or --template-file; {{name}} in it is replaced by a variable.",
      examples: [
        "webhook-trigger webhook create --name review --team deploy --template 'Review {{branch}} of {{repo}}'",
        "webhook-trigger webhook create --name nightly --team deploy --template-file prompt.md --timeout 600"
      ]
    })
  )
)

const showOne = Command.make("show", { webhook, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const found = yield* callOnWebhook(options, (_, webhook) => Effect.succeed(webhook))
    yield* show(options, Webhook, found, describe)
  })
).pipe(Command.withDescription("Show one webhook"))

const edit = Command.make("edit", { webhook, edit: editOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const payload = yield* editOf(options.edit)
    const edited = yield* callOnWebhook(options, (client, { id }) =>
      client.webhooks.edit({ path: { id }, headers: {}, payload })
    )
    yield* show(options, Webhook, edited, describe)
  })
).pipe(
  Command.withDescription(
    about("Change a webhook; applies from the next trigger on", {
      details: "Fields that are not given stay as they are.",
      examples: [
        "webhook-trigger webhook edit review --template-file prompt.md",
        "webhook-trigger webhook edit review --timeout 600 --max-concurrent default",
        "webhook-trigger webhook edit review --verification github --secret-file secret.txt"
      ]
    })
  )
)

const name = Options.text("name").pipe(
  Options.withDescription("The new webhook's name; when not given, the other's with (copy)"),
  Options.optional
)

const duplicate = Command.make("duplicate", { webhook, name, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const payload = Option.match(options.name, { onNone: () => ({}), onSome: (name) => ({ name }) })
    const created = yield* callOnWebhook(options, (client, { id }) =>
      client.webhooks.duplicate({ path: { id }, payload })
    )
    yield* show(options, WebhookWithToken, created, () =>
      withToken(`Webhook ${printable(created.webhook.name)} (${created.webhook.id}) created.`, created)
    )
  })
).pipe(Command.withDescription("Create another webhook with the same settings; prints its own trigger URL, once"))

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

const remove = Command.make("delete", { webhook, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* callOnWebhook(options, (client, { id, name }) =>
      Effect.zipRight(
        confirm(options.yes, `Delete the webhook ${printable(name)} and all its runs, permanently?`),
        client.webhooks.delete({ path: { id } })
      )
    )
    yield* done(options, "Webhook and its history deleted.")
  })
).pipe(Command.withDescription("Delete a webhook and all its runs, permanently"))

const cancelQueued = Command.make("cancel-queued", { webhook, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const result = yield* callOnWebhook(options, (client, { id, name }) =>
      Effect.gen(function* () {
        const waiting = yield* client.webhooks.cancelQueued({ path: { id }, urlParams: { dry_run: "true" } })
        yield* confirm(
          options.yes,
          `Cancel all queued runs of the webhook ${printable(name)}: ${waitingText(waiting)}?`
        )
        return yield* client.webhooks.cancelQueued({ path: { id }, urlParams: {} })
      })
    )
    yield* show(options, QueueCancelled, result, cancelledText)
  })
).pipe(
  Command.withDescription(
    about("Cancel all runs of a webhook that wait to be sent", { details: "Its failed runs are not tried again." })
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

const overlap = Options.text("overlap").pipe(
  Options.withPseudoName("seconds"),
  Options.withDescription("How many seconds the old token stays valid, at most 30 days; not at all when not given"),
  Options.mapTryCatch(...validated("--overlap", wholeNumber(0, maxOverlapSeconds))),
  Options.withDefault(0)
)

const regenerate = Command.make("regenerate", { webhook, overlap, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const regenerated = yield* callOnWebhook(options, (client, { id, name, token_hint }) =>
      Effect.zipRight(
        confirm(
          options.yes,
          options.overlap > 0
            ? `Replace the token ${token_hint} of ${printable(name)}? Callers that use it get 404 after that time.`
            : `Replace the token ${token_hint} of ${printable(name)}? Callers that use it get 404 from then on.`
        ),
        client.webhooks.regenerate({
          path: { id },
          urlParams: { overlap_seconds: options.overlap }
        })
      )
    )
    yield* show(options, WebhookWithToken, regenerated, () =>
      withToken(
        `Webhook ${printable(regenerated.webhook.name)} has a new token; the old one ${
          regenerated.webhook.old_token_valid_until === undefined
            ? "no longer works"
            : `works until ${time(regenerated.webhook.old_token_valid_until)}`
        }.`,
        regenerated
      )
    )
  })
).pipe(Command.withDescription("Replace a webhook's token immediately; prints the new trigger URL, once"))

const endOldToken = Command.make("end-old-token", { webhook, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* callOnWebhook(options, (client, { id }) => client.webhooks.endOldToken({ path: { id } }))
    yield* done(options, "Only the webhook's own token works now.")
  })
).pipe(Command.withDescription("End a token that `regenerate --overlap` has left valid"))

const preview = Command.make("preview", { webhook, input: inputOptions, received, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const input = yield* inputOf(options.input)
    if (Option.isSome(options.received) && (input._tag === "Request" || Object.keys(input.variables).length > 0)) {
      return yield* usage("give --received, or what it is in place of, not both")
    }
    const answer = yield* callOnWebhook(options, (client, webhook) =>
      Effect.gen(function* () {
        const payload = Option.isSome(options.received)
          ? yield* sampleOfReceived(client, webhook, options.received.value)
          : yield* sampleFor(webhook, input)
        return yield* client.webhooks.preview({ path: { id: webhook.id }, payload })
      })
    )
    if (answer.missing.length > 0) {
      const title = `Without a value: ${printable(answer.missing.join(", "))}`
      return yield* new Failure({ exit: exitCodes.refused, title, body: answer })
    }
    yield* show(options, Preview, answer, ({ accepted, prompt }) =>
      accepted === false ? "Ignored: accept_if does not hold for this input." : printable(prompt ?? "")
    )
  })
).pipe(
  Command.withDescription(
    about("Show the rendered prompt for some variables, or for a request; runs nothing", {
      details: "A webhook with input payload takes --payload, with --header and --query; any other takes variables.",
      examples: [
        'webhook-trigger webhook preview review --var branch=main --json-var \'labels=["a","b"]\'',
        "webhook-trigger webhook preview push --payload @push.json --header 'X-GitHub-Event: push'",
        "webhook-trigger webhook preview push --received last"
      ]
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
    duplicate,
    ...templateCommands,
    toggle("enable", "Let a webhook take triggers again"),
    toggle("disable", "Answer a webhook's triggers with 404; runs already accepted continue"),
    regenerate,
    endOldToken,
    refused,
    preview,
    cancelQueued,
    replay,
    remove
  ]
}
