/** The versions of a webhook's template. */
import { Effect, Option } from "effect"
import { Argument, Flag } from "effect/cli"
import { changesBesideText } from "../../domain/prompt/TemplateChanges.ts"
import type { TemplateVersion, TemplateVersionSummary } from "../../domain/prompt/TemplateVersion.ts"
import { actorOf } from "../Access.ts"
import { type Connection, send } from "../Call.ts"
import { derived, remote } from "../Command.ts"
import { hunkTexts } from "../DiffText.ts"
import { refused } from "../Failure.ts"
import { listText, print, printable, printJson, time } from "../Output.ts"
import { findWebhook } from "../References.ts"
import { noVersion } from "../Rules.ts"

const versions = derived("versions", "webhooks.templates", {
  text: listText<TemplateVersionSummary>(
    {
      ...{ VERSION: "version", SET: "at", LANGUAGE: "template_language", INPUT: "input", BY: actorOf },
      ...{ FROM: "client_address", SESSION: "session_id" }
    },
    "No versions."
  )
})

const versionFlag = (name: string, about: string) =>
  Flag.Int(name).pipe(
    Flag.withMetavar("version"),
    Flag.withDescription(about),
    Flag.filter(
      (version) => version > 0,
      () => "a whole number from 1"
    ),
    Flag.optional
  )

/** A unified diff without the file header. */
const diffText = (before: TemplateVersion, after: TemplateVersion): string => {
  const beside = changesBesideText(before, after).map(({ from, label, to }) => `${label}: ${from} → ${to}`)
  const hunks = hunkTexts(before.prompt_template, after.prompt_template)
  return [
    `Version ${before.version} (${time(before.at)}) and version ${after.version} (${time(after.at)})`,
    ...beside,
    ...(hunks.length === 0 ? ["The text of the template is the same."] : hunks)
  ].join("\n")
}

const diff = remote(
  "diff",
  {
    about: "Show the changes between two versions of a webhook's template",
    details: "With --json, prints both templates. To find a run's version, use run show.",
    examples: ["webhook-trigger webhook diff review", "webhook-trigger webhook diff review --from 3 --to 7"]
  },
  {
    webhook: Argument.String("webhook").pipe(Argument.withDescription("The webhook's id, or its name")),
    from: versionFlag("from", "The version to compare with; default: the previous one"),
    to: versionFlag("to", "The version to compare; default: the current one")
  },
  Effect.fnUntraced(function* ({ from, to, webhook }, connection) {
    const { id } = yield* findWebhook(connection, webhook)
    const { data } = yield* connection.call((client) => client.webhooks.templates({ params: { id } }))
    const last = Option.getOrElse(to, () => data[0]!.version)
    const set = data.find(({ version }) => version <= last)?.version ?? last
    const earlier = data.find(({ version }) => version < set)?.version
    const first = Option.getOrElse(from, () => earlier)
    if (first === undefined) return yield* refused("There is no version before it to compare with")
    const [before, after] = [yield* versionOf(connection, id, first), yield* versionOf(connection, id, last)]
    if (connection.json) return yield* printJson({ before: before.json, after: after.json })
    yield* print(diffText(before.answer, after.answer))
  })
)

const versionOf = (connection: Connection, id: string, version: number) =>
  send(connection, "webhooks.template", { params: { id, version: String(version) } }, noVersion(String(version)))

const restore = derived("restore", "webhooks.restoreTemplate", {
  text: ({ name, version }, { request }) =>
    `Webhook ${printable(name)} has the template of version ${request.params.version} again, as version ${version}.`
})

export const templateCommands = [versions, diff, restore] as const
