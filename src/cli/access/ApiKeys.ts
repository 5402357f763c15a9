import { DateTime, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Access } from "../../api/access/Access.ts"
import { ApiKeyList, ApiKeyWithSecret } from "../../api/access/ApiKeys.ts"
import { type ApiKey, ApiKeyDraft, Role } from "../../domain/access/ApiKey.ts"
import { roleNames, roles } from "../../domain/access/Roles.ts"
import { TeamName } from "../../domain/Team.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, call, done, show } from "../Connection.ts"
import { about } from "../Help.ts"
import { ago, table, time } from "../Output.ts"
import { Time, validated } from "../Validated.ts"
import { findWebhook, webhookNotFound } from "../webhook/WebhookRef.ts"

type Limits = Pick<ApiKey, "teams" | "webhooks">

const limitsOf = ({ teams, webhooks }: Limits): string =>
  [
    ...(teams ?? []),
    ...(webhooks === undefined ? [] : [webhooks.length === 1 ? "1 webhook" : `${webhooks.length} webhooks`])
  ].join(", ") || "none"

const endOf = ({ expires_at, revoked_at }: ApiKey, now: DateTime.Utc): string => {
  if (revoked_at !== undefined) return `revoked ${time(revoked_at)}`
  if (expires_at === undefined) return "never"
  return `${DateTime.isLessThanOrEqualTo(expires_at, now) ? "expired " : ""}${time(expires_at)}`
}

const list = Command.make("list", adminOptions, (options) =>
  Effect.gen(function* () {
    const keys = yield* call(options, (client) => client.apiKeys.list())
    const now = yield* DateTime.now
    yield* show(options, ApiKeyList, keys, ({ data }) =>
      data.length === 0
        ? "No API keys yet. Create one: webhook-trigger key create --name ci-deploy --role operator"
        : table(
            ["KEY", "NAME", "ROLE", "LIMITS", "ENDS IN", "LAST USED", "EXPIRES"],
            data.map((key) => [
              ...[key.id, key.name, key.role, limitsOf(key), key.hint],
              key.last_used_at === undefined ? "never" : ago(key.last_used_at),
              endOf(key, now)
            ])
          )
    )
  })
).pipe(Command.withDescription("List the API keys"))

const name = Flag.String("name").pipe(
  Flag.withDescription("Who or what uses the key"),
  Flag.mapTryCatch(...validated("--name", ApiKeyDraft.fields.name))
)

const role = Flag.String("role").pipe(
  Flag.withDescription(roleNames.map((each) => `${each}: ${roles[each].description}`).join("; ")),
  Flag.mapTryCatch(
    ...validated(
      "--role",
      Role.annotate({ message: () => ({ message: `must be one of ${roleNames.join(", ")}`, override: true }) })
    )
  )
)

const teams = Flag.String("teams").pipe(
  Flag.withMetavar("names"),
  Flag.withDescription("Limit the key to these teams, separated by commas; default: all teams"),
  Flag.mapTryCatch(
    ...validated("--teams", Schema.compose(Schema.split(","), Schema.NonEmptyArray(TeamName), { strict: false }))
  ),
  Flag.optional
)

const webhooks = Flag.String("webhook").pipe(
  Flag.withMetavar("webhook"),
  Flag.withDescription("Limit the key to this webhook, by ID or name; only for the role caller; repeatable"),
  Flag.repeated
)

const expires = Flag.String("expires").pipe(
  Flag.withMetavar("time"),
  Flag.withDescription("When the key stops working, such as 2026-12-31; default: never"),
  Flag.mapTryCatch(...validated("--expires", Time)),
  Flag.optional
)

const create = Command.make("create", { name, role, teams, webhooks, expires, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const limits = yield* Effect.forEach(options.webhooks, (ref) =>
      Effect.map(
        call(options, (client) => findWebhook(client, ref), webhookNotFound(ref)),
        ({ id }) => id
      )
    )
    const payload: ApiKeyDraft = {
      name: options.name,
      role: options.role,
      ...(Option.isSome(options.teams) && { teams: options.teams.value }),
      ...(limits.length > 0 && { webhooks: limits }),
      ...(Option.isSome(options.expires) && { expires_at: options.expires.value })
    }
    const created = yield* call(options, (client) => client.apiKeys.create({ payload }))
    yield* show(options, ApiKeyWithSecret, created, ({ key }) => key)
  })
).pipe(
  Command.withDescription(
    about("Create an API key for a person or a program", {
      details: "Prints the key, which is shown only once. Use it as ADMIN_API_KEY, or sign in to the web UI with it.",
      examples: [
        "webhook-trigger key create --name ci-deploy --role operator --teams deploy > ci.key",
        "webhook-trigger key create --name assistant --role caller --webhook 'Review pull requests'",
        "webhook-trigger key create --name Rosa --role editor --expires 2026-12-31"
      ]
    })
  )
)

const id = Argument.String({ name: "key-id" }).pipe(Argument.withDescription("The key's id, as `key list` shows it"))

const revoke = Command.make("revoke", { id, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* confirm(options.yes, "Revoke this API key? Programs that use it stop working, and its sessions end.")
    yield* call(
      options,
      (client) => client.apiKeys.revoke({ path: { id: options.id } }),
      `No valid API key has the id ${JSON.stringify(options.id)}; see webhook-trigger key list`
    )
    yield* done(options, "The key was revoked.")
  })
).pipe(Command.withDescription(about("Revoke an API key", { details: "Takes effect immediately, on every server." })))

const current = Command.make("show", adminOptions, (options) =>
  Effect.gen(function* () {
    const access = yield* call(options, (client) => client.apiKeys.current())
    yield* show(options, Access, access, ({ expires_at, key_name, role, teams, webhooks }) =>
      [
        `Key      ${key_name ?? "the admin key"}`,
        `Role     ${role}: ${roles[role].description}`,
        `Teams    ${teams?.join(", ") ?? "all"}`,
        ...(webhooks === undefined ? [] : [`Webhooks ${webhooks.join(", ")}`]),
        `Expires  ${expires_at === undefined ? "never" : time(expires_at)}`
      ].join("\n")
    )
  })
).pipe(Command.withDescription("Show the role and the teams of your own key"))

export const apiKeys: Group = {
  name: "key",
  about: "API keys: who may manage this server, with which role.",
  commands: [list, create, revoke, current]
}
