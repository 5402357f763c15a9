import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { LeaderKeyList, LeaderKeyWithSecret } from "../../api/access/LeaderKeys.ts"
import { LeaderKeyDraft } from "../../domain/access/LeaderKey.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, call, done, show } from "../Connection.ts"
import { about } from "../Help.ts"
import { ago, table } from "../Output.ts"
import { teamArgument as team, teamNotFound } from "../TeamArgument.ts"
import { validated } from "../Validated.ts"

const list = Command.make("list", { team, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const keys = yield* call(
      options,
      (client) => client.leaderKeys.list({ path: { team: options.team } }),
      teamNotFound(options.team)
    )
    yield* show(options, LeaderKeyList, keys, ({ data }) =>
      data.length === 0
        ? `No leader keys yet. Create one: webhook-trigger team leader-key create ${options.team} --name laptop`
        : table(
            ["KEY", "NAME", "ENDS IN", "CREATED", "LAST USED"],
            data.map((key) => [
              ...[key.id, key.name, key.hint, ago(key.created_at)],
              key.last_used_at === undefined ? "never" : ago(key.last_used_at)
            ])
          )
    )
  })
).pipe(Command.withDescription("List a team's leader keys"))

const name = Flag.String("name").pipe(
  Flag.withDescription("Where the key is used, for people"),
  Flag.mapTryCatch(...validated("--name", LeaderKeyDraft.fields.name))
)

const create = Command.make("create", { team, name, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const created = yield* call(
      options,
      (client) => client.leaderKeys.create({ path: { team: options.team }, payload: { name: options.name } }),
      teamNotFound(options.team)
    )
    yield* show(options, LeaderKeyWithSecret, created, ({ key }) => key)
  })
).pipe(
  Command.withDescription(
    about("Create a key for a team's leader", {
      details: "Prints the key, which is shown only once. With it, a leader gets the team's prompts over HTTP.",
      examples: ["webhook-trigger team leader-key create review --name laptop > review.key"]
    })
  )
)

const id = Argument.String({ name: "key-id" }).pipe(Argument.withDescription("The key's id, as `team leader-key list` shows it"))

const revoke = Command.make("revoke", { team, id, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* confirm(options.yes, `Revoke this key of the team ${options.team}? Leaders that use it stop working.`)
    yield* call(
      options,
      (client) => client.leaderKeys.revoke({ path: { team: options.team, id: options.id } }),
      `The team ${options.team} has no key with the id ${JSON.stringify(options.id)}; see webhook-trigger team leader-key list`
    )
    yield* done(options, "The key was revoked.")
  })
).pipe(Command.withDescription(about("Revoke a leader key", { details: "Takes effect immediately, on every server." })))

export const leaderKeys: Group = {
  name: "leader-key",
  about: "Keys with which leaders get their team's prompts over HTTP.",
  commands: [list, create, revoke]
}
