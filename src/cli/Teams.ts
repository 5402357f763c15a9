import { Args, Command, Options } from "@effect/cli"
import { Effect, Schema } from "effect"
import { MessageAccepted, MessageAnswered } from "../api/Teams.ts"
import { Team, TeamName } from "../domain/Team.ts"
import { checked } from "./Checked.ts"
import type { Group } from "./Commands.ts"
import { confirm, yes } from "./Confirm.ts"
import { ask, done, managed, show } from "./Connection.ts"
import { about } from "./Help.ts"
import { acceptedText, answerText, fields, print, printJson, table, time } from "./Output.ts"
import { endedBadly } from "./RunEnd.ts"

const team = Args.text({ name: "team" }).pipe(
  Args.withDescription("The team's name: lower-case letters, digits and hyphens"),
  Args.mapTryCatch(...checked("<team>", TeamName))
)

const unknown = (team: string) => `No team is called ${JSON.stringify(team)}; see webhook-trigger team list`

const words = (team: Team) =>
  fields({
    team: team.team,
    running: team.running ? "yes" : "no",
    leaders: team.consumers,
    queued: team.queued,
    created: time(team.created_at)
  })

const list = Command.make("list", managed, (options) =>
  Effect.gen(function* () {
    const teams = yield* ask(options, (client) => client.teams.list())
    yield* show(options, Schema.Array(Team), teams, () =>
      teams.length === 0
        ? "No teams yet. Make one: webhook-trigger team create <team>"
        : table(
            ["TEAM", "RUNNING", "LEADERS", "QUEUED", "CREATED"],
            teams.map((team) => [
              team.team,
              team.running ? "yes" : "no",
              team.consumers,
              team.queued,
              time(team.created_at)
            ])
          )
    )
  })
).pipe(Command.withDescription("List the teams, and whether a leader of each is connected"))

const create = Command.make("create", { team, ...managed }, (options) =>
  Effect.gen(function* () {
    const made = yield* ask(options, (client) => client.teams.create({ payload: { team: options.team } }))
    yield* show(
      options,
      Team,
      made,
      () => `Team ${made.team} created. Connect its leader: webhook-trigger leader --team ${made.team} -- <command>`
    )
  })
).pipe(
  Command.withDescription(
    about("Make a team known, so that webhooks can point at it", {
      details:
        "The team runs once a leader of it is connected to the broker: see webhook-trigger leader --help, or docs/amqp.md.",
      examples: ["webhook-trigger team create deploy"]
    })
  )
)

const showOne = Command.make("show", { team, ...managed }, (options) =>
  Effect.gen(function* () {
    const found = yield* ask(
      options,
      (client) => client.teams.show({ path: { team: options.team } }),
      unknown(options.team)
    )
    yield* show(options, Team, found, words)
  })
).pipe(Command.withDescription("Show one team"))

const remove = Command.make("delete", { team, yes, ...managed }, (options) =>
  Effect.gen(function* () {
    yield* confirm(options.yes, `Delete the team ${options.team} and its chat messages, for good?`)
    yield* ask(options, (client) => client.teams.delete({ path: { team: options.team } }), unknown(options.team))
    yield* done(options, `Team ${options.team} deleted.`)
  })
).pipe(Command.withDescription("Delete a team that no webhook points at"))

const text = Args.text({ name: "text" }).pipe(
  Args.withDescription("What to say to the team's leader"),
  Args.mapTryCatch(
    ...checked("<text>", Schema.String.pipe(Schema.minLength(1, { message: () => "must not be empty" })))
  )
)
const wait = Options.boolean("wait").pipe(Options.withDescription("Wait for the answer and print it"))

const message = Command.make("message", { team, text, wait, ...managed }, (options) =>
  Effect.gen(function* () {
    const sent = yield* ask(
      options,
      (client) =>
        client.teams
          .message({
            path: { team: options.team },
            urlParams: options.wait ? { wait: "true" } : {},
            payload: { message: options.text }
          })
          .pipe(Effect.catchAll(endedBadly)),
      unknown(options.team)
    )
    if (options.json) {
      yield* printJson(Schema.encodeSync(Schema.Union(MessageAccepted, MessageAnswered))(sent))
    } else {
      yield* print(sent.status === "accepted" ? acceptedText(sent.message_id) : answerText(sent.response))
    }
  })
).pipe(
  Command.withDescription(
    about("Send a chat message to a team; it queues with the webhooks' prompts", {
      examples: ["webhook-trigger team message deploy 'What is running now?' --wait"]
    })
  )
)

export const teams: Group = {
  name: "team",
  about: "Teams of agents, which webhooks put to work.",
  commands: [list, create, showOne, message, remove]
}
