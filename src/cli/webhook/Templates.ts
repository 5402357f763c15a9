/** The versions of a webhook's template. */
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { TemplateVersionList } from "../../api/webhook/TemplateVersions.ts"
import { changesBesideText } from "../../domain/prompt/TemplateChanges.ts"
import type { TemplateVersion } from "../../domain/prompt/TemplateVersion.ts"
import { Webhook } from "../../domain/webhook/Webhook.ts"
import { adminOptions, show } from "../Connection.ts"
import { hunkTexts } from "../DiffText.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { about } from "../Help.ts"
import { ago, print, printable, printJson, table, time } from "../Output.ts"
import { validated, wholeNumber } from "../Validated.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"

const isNotFound = Schema.is(Schema.Struct({ status: Schema.Literal(404) }))

/** The webhook exists, so a 404 is about the version. */
const orNoVersion =
  (version: number) =>
  <A, E, R>(request: Effect.Effect<A, E, R>) =>
    Effect.catchIf(request, isNotFound, () => {
      const title = `The webhook has no version ${version}, or its template is no longer stored`
      return new Failure({ exit: exitCodes.refused, title, detail: "see webhook-trigger webhook versions" })
    })

const versionNumber = wholeNumber(1, 999_999_999)

const versions = Command.make("versions", { webhook, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const found = yield* callOnWebhook(options, (client, { id }) => client.webhooks.templates({ path: { id } }))
    yield* show(options, TemplateVersionList, found, ({ data }) =>
      table(
        ["VERSION", "SET", "LANGUAGE", "INPUT", "BY", "FROM", "SESSION"],
        data.map((one) => [
          ...[one.version, ago(one.at), one.template_language, one.input],
          ...[
            [one.actor, one.key_name ?? one.person_name].filter(Boolean).join(" "),
            one.client_address,
            one.session_id
          ]
        ])
      )
    )
  })
).pipe(Command.withDescription("List the versions of a webhook's template, with author and time"))

const versionOption = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("version"),
    Flag.withDescription(description),
    Flag.mapTryCatch(...validated(`--${name}`, versionNumber)),
    Flag.optional
  )
const from = versionOption("from", "The version to compare with; default: the previous one")
const to = versionOption("to", "The version to compare; default: the current one")

/** A unified diff without the file header. */
const diffText = (beforeVersion: TemplateVersion, afterVersion: TemplateVersion): string => {
  const [before, after] = [beforeVersion.prompt_template, afterVersion.prompt_template]
  const beside = changesBesideText(beforeVersion, afterVersion).map(
    ({ from, label, to }) => `${label}: ${from} → ${to}`
  )
  const hunks = hunkTexts(before, after)
  return [...beside, ...(hunks.length === 0 ? ["The text of the template is the same."] : hunks)].join("\n")
}

const diff = Command.make("diff", { webhook, from, to, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const [before, after] = yield* callOnWebhook(options, (client, { id }) =>
      Effect.gen(function* () {
        const { data } = yield* client.webhooks.templates({ path: { id } })
        const last = Option.getOrElse(options.to, () => data[0]!.version)
        const set = data.find(({ version }) => version <= last)?.version ?? last
        const earlier = data.find(({ version }) => version < set)?.version
        const first = Option.getOrElse(options.from, () => earlier)
        if (first === undefined) {
          const title = "There is no version before it to compare with"
          return yield* new Failure({ exit: exitCodes.refused, title })
        }
        const version = (version: number) =>
          orNoVersion(version)(client.webhooks.template({ path: { id, version: String(version) } }))
        return [yield* version(first), yield* version(last)] as const
      })
    )
    if (options.json) return yield* printJson({ before, after })
    yield* print(
      `Version ${before.version} (${time(before.at)}) and version ${after.version} (${time(after.at)})\n${diffText(before, after)}`
    )
  })
).pipe(
  Command.withDescription(
    about("Show the changes between two versions of a webhook's template", {
      details: "With --json, prints both templates. To find a run's version, use run show.",
      examples: ["webhook-trigger webhook diff review", "webhook-trigger webhook diff review --from 3 --to 7"]
    })
  )
)

const version = Argument.String({ name: "version" }).pipe(
  Argument.withDescription("A version from webhook versions or run show"),
  Argument.mapTryCatch(...validated("<version>", versionNumber))
)

const restore = Command.make("restore", { webhook, version, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const restored = yield* callOnWebhook(options, (client, { id }) =>
      orNoVersion(options.version)(
        client.webhooks.restoreTemplate({ path: { id, version: String(options.version) }, headers: {} })
      )
    )
    yield* show(
      options,
      Webhook,
      restored,
      ({ name, version }) =>
        `Webhook ${printable(name)} has the template of version ${options.version} again, as version ${version}.`
    )
  })
).pipe(Command.withDescription("Restore the template of an earlier version"))

export const templateCommands = [versions, diff, restore] as const
