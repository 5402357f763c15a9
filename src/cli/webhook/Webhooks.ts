import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import type { Client } from "../../api/Client.ts"
import { QueueCancelled } from "../../api/run/Runs.ts"
import { maxOverlapSeconds } from "../../api/webhook/Overlap.ts"
import { WebhookWithToken } from "../../api/webhook/Tokens.ts"
import { Preview, WebhookList } from "../../api/webhook/Webhooks.ts"
import { Webhook } from "../../domain/webhook/Webhook.ts"
import type { Recipe } from "../../recipes/Recipe.ts"
import { recipes } from "../../recipes/Recipes.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, call, done, show } from "../Connection.ts"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { about } from "../Help.ts"
import { ago, printable, table, time, yesNo } from "../Output.ts"
import { cancelledText, queuedText } from "../run/Outcome.ts"
import { replayDescription, replayMatching, replayOptions, showReplayed } from "../run/Replays.ts"
import { inputOf, inputOptions, sampleFor } from "../run/TriggerInput.ts"
import { validated, wholeNumber } from "../Validated.ts"
import { received, refused, sampleOfReceived } from "./ReceivedRequests.ts"
import { listRecipes } from "./Recipes.ts"
import { runWebhook } from "./RunWebhook.ts"
import { templateCommands } from "./Templates.ts"
import { byOption, draftOf, draftOptions, editOf, editOptions } from "./WebhookOptions.ts"
import { callOnWebhook, webhook, withShared } from "./WebhookRef.ts"
import { describeSetup, describeToken, describeWebhook } from "./WebhookText.ts"

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
              ago(one.last_triggered_at),
              one.token_hint ?? "shared"
            ])
          )
    )
  })
).pipe(Command.withDescription("List the webhooks, by name"))

/** A secret that was made here is shown once, like the token. */
const Created = Schema.extend(WebhookWithToken, Schema.Struct({ secret: Schema.optional(Schema.String) }))

const create = Command.make("create", { draft: draftOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const payload = yield* draftOf(options.draft)
    const { from, verification } = options.draft
    const recipe: Recipe | undefined = Option.isSome(from) ? recipes[from.value] : undefined
    const made = recipe?.secret === "made here" && Option.isNone(verification.secret) ? payload.secret : undefined
    const created = yield* call(options, (client) =>
      Effect.flatMap(withShared(client, payload), (payload) => client.webhooks.create({ payload }))
    ).pipe(Effect.mapError(byOption))
    yield* show(options, Created, { ...created, ...(made && { secret: made }) }, () => {
      const title = `Webhook ${printable(created.webhook.name)} (${created.webhook.id}) created.`
      return recipe === undefined ? describeToken(title, created) : describeSetup(title, created, recipe, made)
    })
  })
).pipe(
  Command.withDescription(
    about("Create a webhook and print its trigger URL with the secret token, once", {
      details:
        "Requires --team, and --from or both --name and a prompt (--template or --template-file). {{name}} in the prompt is replaced by a variable.",
      examples: [
        "webhook-trigger webhook create --from github --team review",
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
      withShared(client, payload).pipe(
        Effect.flatMap((payload) => client.webhooks.edit({ path: { id }, headers: {}, payload })),
        Effect.flatMap((edited) => withServer(client, edited))
      )
    ).pipe(Effect.mapError(byOption))
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

const name = Flag.String("name").pipe(
  Flag.withDescription("The new webhook's name; default: the same name with (copy)"),
  Flag.optional
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
      Effect.andThen(
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

const preview = Command.make("preview", { webhook, input: inputOptions, received, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const input = yield* inputOf(options.input)
    if (Option.isSome(options.received) && (input._tag === "Request" || Object.keys(input.variables).length > 0)) {
      return yield* usage("use either --received or other input options, not both")
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
    yield* show(options, Preview, answer, ({ accepted, cancels, ignored_because: because, prompt }) =>
      cancels === true
        ? "This input starts no run: it passes the filter for events that cancel runs (cancel_if)."
        : accepted === false
          ? `Ignored: this input does not pass the filter (accept_if).${because === undefined ? "" : ` ${printable(because)}`}`
          : printable(prompt ?? "")
    )
  })
).pipe(
  Command.withDescription(
    about("Show the rendered prompt for variables or a request, without a run", {
      details: "A webhook with input payload accepts --payload, with --header and --query. Others accept variables.",
      examples: [
        'webhook-trigger webhook preview review --var branch=main --json-var \'labels=["a","b"]\'',
        "webhook-trigger webhook preview push --payload @push.json --header 'X-GitHub-Event: push'",
        "webhook-trigger webhook preview push --received last"
      ]
    })
  )
)

const overlap = Flag.String("overlap").pipe(
  Flag.withMetavar("seconds"),
  Flag.withDescription("How long the old token stays valid, up to 30 days; default: 0"),
  Flag.mapTryCatch(...validated("--overlap", wholeNumber(0, maxOverlapSeconds))),
  Flag.withDefault(0)
)

const regenerate = Command.make("regenerate", { webhook, overlap, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const regenerated = yield* callOnWebhook(options, (client, { id, name, token_hint = "" }) =>
      Effect.andThen(
        confirm(
          options.yes,
          options.overlap > 0
            ? `Replace the token ${token_hint} of ${printable(name)}? Its callers get 404 after the overlap.`
            : `Replace the token ${token_hint} of ${printable(name)}? Its callers get 404 immediately.`
        ),
        client.webhooks.regenerate({
          path: { id },
          urlParams: { overlap_seconds: options.overlap }
        })
      )
    )
    yield* show(options, WebhookWithToken, regenerated, () =>
      describeToken(
        `Webhook ${printable(regenerated.webhook.name)} has a new token; the old one ${
          regenerated.webhook.old_token_valid_until === undefined
            ? "no longer works"
            : `works until ${time(regenerated.webhook.old_token_valid_until)}`
        }.`,
        regenerated
      )
    )
  })
).pipe(Command.withDescription("Replace a webhook's token and print the new trigger URL, once"))

const endOldToken = Command.make("end-old-token", { webhook, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* callOnWebhook(options, (client, { id }) => client.webhooks.endOldToken({ path: { id } }))
    yield* done(options, "The old token no longer works.")
  })
).pipe(Command.withDescription("End the old token that `regenerate --overlap` left valid"))

export const webhooks: Group = {
  name: "webhook",
  about: "Webhooks: prompts with a team and a secret trigger URL.",
  commands: [
    list,
    listRecipes,
    create,
    runWebhook,
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
