import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { SessionList } from "../../api/access/Sessions.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, call, done, show } from "../Connection.ts"
import { about } from "../Help.ts"
import { ago, table } from "../Output.ts"

const list = Command.make("list", adminOptions, (options) =>
  Effect.gen(function* () {
    const sessions = yield* call(options, (client) => client.sessions.list())
    yield* show(options, SessionList, sessions, ({ data }) =>
      data.length === 0
        ? "Nobody is signed in."
        : table(
            ["SESSION", "SIGNED IN", "LAST USED", "FROM", "CLIENT"],
            data.map((session) => [
              session.id,
              ago(session.created_at),
              ago(session.last_used_at),
              session.client_address,
              session.oauth_client === undefined ? session.user_agent : `${session.oauth_client} (access token)`
            ])
          )
    )
  })
).pipe(Command.withDescription("List browsers that are signed in to the web UI, and access tokens of AI assistants"))

const id = Argument.String({ name: "session-id" }).pipe(Argument.withDescription("The session's id, as `session list` shows it"))

const end = Command.make("end", { id, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* call(
      options,
      (client) => client.sessions.end({ path: { id: options.id } }),
      `No session has the id ${JSON.stringify(options.id)}; see webhook-trigger session list`
    )
    yield* done(options, "The session was ended.")
  })
).pipe(Command.withDescription(about("End one session", { details: "The browser must sign in again." })))

const endAll = Command.make("end-all", { yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* confirm(options.yes, "End all sessions? Everyone must sign in again.")
    yield* call(options, (client) => client.sessions.endAll())
    yield* done(options, "All sessions were ended.")
  })
).pipe(Command.withDescription("End all sessions"))

export const sessions: Group = {
  name: "session",
  about: "Sessions: who is signed in to the web UI.",
  commands: [list, end, endAll]
}
