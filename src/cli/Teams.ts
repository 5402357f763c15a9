import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Message, MessageAccepted, MessageAnswered } from "../api/run/Messages.ts"
import { type DryRun, QueueCancelled } from "../api/run/Runs.ts"
import { TeamList } from "../api/Teams.ts"
import { Team, TeamReleased, type TeamWork } from "../domain/Team.ts"
import { ThreadKey } from "../domain/Thread.ts"
import { leaderKeys } from "./access/LeaderKeys.ts"
import { BrokerRights, brokerOptions, commandsOf, rightsOf } from "./BrokerRights.ts"
import type { Group } from "./Commands.ts"
import { confirm, yes } from "./Confirm.ts"
import { adminOptions, call, done, json, show } from "./Connection.ts"
import { about } from "./Help.ts"
import {
  acceptedText,
  ago,
  answerText,
  fields,
  plural,
  print,
  printJson,
  section,
  table,
  time,
  timeAndAge,
  yesNo
} from "./Output.ts"
import { cancelledText, failUnsuccessful, queuedText, wait } from "./run/Outcome.ts"
import { replayDescription, replayMatching, replayOptions, showReplayed } from "./run/Replays.ts"
import { teamNotFound as notFound, teamArgument as team } from "./TeamArgument.ts"
import { validated } from "./Validated.ts"

const pausedText = ({ paused_at }: Team): string => (paused_at === undefined ? "no" : `since ${time(paused_at)}`)

const restText = ({ resting_reason, resting_until }: Team) =>
  resting_until && { resting: `until ${time(resting_until)}, because of a usage limit: ${resting_reason ?? ""}` }

const workText = ({ released_at, run_id, since, status, stop_at }: TeamWork): string => {
  const stop = stop_at && `, told to stop ${time(stop_at)}`
  const release = released_at && `, released ${time(released_at)} without confirmation`
  return `${run_id} (${status}) since ${time(since)}${stop ?? ""}${release ?? ""}`
}

const describe = (team: Team) =>
  fields({
    team: team.team,
    running: yesNo(team.running),
    leaders: team.consumers,
    queued: team.queued,
    paused: pausedText(team),
    ...restText(team),
    created: timeAndAge(team.created_at)
  }) + (team.at_work ? section("At work", team.at_work.map(workText).join("\n")) : "")

const list = Command.make("list", adminOptions, (options) =>
  Effect.gen(function* () {
    const teams = yield* call(options, (client) => client.teams.list())
    yield* show(options, TeamList, teams, ({ data }) =>
      data.length === 0
        ? "No teams yet. Create one: webhook-trigger team create <team>"
        : table(
            ["TEAM", "RUNNING", "LEADERS", "QUEUED", "PAUSED", "CREATED"],
            data.map((team) => [
              ...[team.team, yesNo(team.running), team.consumers, team.queued],
              ...[pausedText(team), ago(team.created_at)]
            ])
          )
    )
  })
).pipe(Command.withDescription("List the teams, and whether their leaders are connected"))

const withRights = Flag.Boolean("broker-rights").pipe(
  Flag.withDescription("Also print the commands that grant the team's leader its rights on RabbitMQ")
)

const Created = Schema.extend(Team, Schema.Struct({ broker_rights: Schema.optional(BrokerRights) }))

const create = Command.make("create", { team, withRights, ...brokerOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const created = yield* call(options, (client) => client.teams.create({ payload: { team: options.team } }))
    const rights = options.withRights ? rightsOf(created.team, options) : undefined
    yield* show(options, Created, { ...created, ...(rights && { broker_rights: rights }) }, () => {
      const text = `Team ${created.team} created. Connect its leader: webhook-trigger leader --team ${created.team} -- <command>`
      return rights === undefined ? text : `${text}\n\n${commandsOf(rights)}`
    })
  })
).pipe(
  Command.withDescription(
    about("Create a team for webhooks", {
      details:
        "The team is running once its leader is connected to the broker; see webhook-trigger leader --help or docs/reference/amqp.md.",
      examples: ["webhook-trigger team create deploy", "webhook-trigger team create deploy --broker-rights"]
    })
  )
)

const brokerRights = Command.make("broker-rights", { team, ...brokerOptions, json }, (options) => {
  const rights = rightsOf(options.team, options)
  return options.json ? printJson(rights) : print(commandsOf(rights))
}).pipe(
  Command.withDescription(
    about("Print the commands that grant a team's leader its rights on RabbitMQ", {
      details:
        "The leader's user gets access to this team only. Run the commands where rabbitmqctl is installed; the first asks for a password. Printing them changes nothing.",
      examples: ["webhook-trigger team broker-rights deploy --vhost webhooks"]
    })
  )
)

const showOne = Command.make("show", { team, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const found = yield* call(
      options,
      (client) => client.teams.show({ path: { team: options.team } }),
      notFound(options.team)
    )
    yield* show(options, Team, found, describe)
  })
).pipe(Command.withDescription("Show one team"))

const pause = Command.make("pause", { team, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const paused = yield* call(
      options,
      (client) => client.teams.pause({ path: { team: options.team } }),
      notFound(options.team)
    )
    yield* show(
      options,
      Team,
      paused,
      ({ queued, team }) => `Team ${team} is paused, ${queued} queued. Resume it: webhook-trigger team resume ${team}`
    )
  })
).pipe(
  Command.withDescription(
    about("Pause a team: requests are accepted and queued, but nothing is sent", {
      details: "Runs in progress continue. Synchronous callers get 408 if the team is not resumed in time."
    })
  )
)

const resume = Command.make("resume", { team, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const resumed = yield* call(
      options,
      (client) => client.teams.resume({ path: { team: options.team } }),
      notFound(options.team)
    )
    yield* show(options, Team, resumed, ({ team }) => `Team ${team} resumed.`)
  })
).pipe(
  Command.withDescription(
    "Resume a paused team, or one that rests because of a usage limit: queued runs are sent in order"
  )
)

const release = Command.make("release", { team, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* confirm(options.yes, `Release the team ${options.team}? Agents that do not stop work beside the next one.`)
    const released = yield* call(
      options,
      (client) => client.teams.release({ path: { team: options.team } }),
      notFound(options.team)
    )
    yield* show(options, TeamReleased, released, ({ released }) => `${plural(released.length, "run")} released.`)
  })
).pipe(
  Command.withDescription(
    about("Release a team from ended runs whose agents may still work", {
      details: "Their leaders are told to stop. A run that has not ended is cancelled first (run cancel)."
    })
  )
)

const remove = Command.make("delete", { team, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* confirm(options.yes, `Delete the team ${options.team} and its chat messages, permanently?`)
    yield* call(options, (client) => client.teams.delete({ path: { team: options.team } }), notFound(options.team))
    yield* done(options, `Team ${options.team} deleted.`)
  })
).pipe(Command.withDescription("Delete a team that no webhook uses"))

const cancelQueued = Command.make("cancel-queued", { team, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const cancel = (urlParams: typeof DryRun.Type) =>
      call(
        options,
        (client) => client.teams.cancelQueued({ path: { team: options.team }, urlParams }),
        notFound(options.team)
      )
    const queued = queuedText(yield* cancel({ dry_run: "true" }))
    yield* confirm(options.yes, `Cancel all queued runs of the team ${options.team}: ${queued}?`)
    yield* show(options, QueueCancelled, yield* cancel({}), cancelledText)
  })
).pipe(
  Command.withDescription(
    about("Cancel all queued runs and messages of a team", {
      details: "Also cancels the retries of failed runs of its webhooks."
    })
  )
)

const replay = Command.make("replay", { team, ...replayOptions }, (options) =>
  Effect.gen(function* () {
    const replayed = yield* call(
      options,
      (client) => replayMatching(client, options, { team: options.team }, `the team ${options.team}`),
      notFound(options.team)
    )
    yield* showReplayed(options, replayed)
  })
).pipe(
  Command.withDescription(
    replayDescription("a team's webhooks and failed messages", "webhook-trigger team replay deploy --yes")
  )
)

const text = Argument.String({ name: "text" }).pipe(
  Argument.withDescription("The message to the team's leader"),
  Argument.mapTryCatch(...validated("<text>", Message.fields.message))
)

const thread = Flag.String("thread").pipe(
  Flag.withMetavar("key"),
  Flag.withDescription("The key of a thread: the message continues this conversation, or begins it"),
  Flag.mapTryCatch(...validated("--thread", ThreadKey)),
  Flag.optional
)

const message = Command.make("message", { team, text, thread, wait, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const sent = yield* call(
      options,
      (client) =>
        client.teams
          .message({
            path: { team: options.team },
            urlParams: { wait: options.wait },
            headers: {},
            payload: {
              message: options.text,
              ...(Option.isSome(options.thread) && { thread: options.thread.value })
            }
          })
          .pipe(Effect.catch(failUnsuccessful)),
      notFound(options.team)
    )
    yield* show(options, Schema.Union([MessageAccepted, MessageAnswered]), sent, (sent) =>
      sent.status === "accepted" ? acceptedText(sent.message_id) : answerText(sent.response)
    )
  })
).pipe(
  Command.withDescription(
    about("Send a chat message to a team, in order with its webhooks' prompts", {
      examples: [
        "webhook-trigger team message deploy 'What is running now?' --wait",
        "webhook-trigger team message review 'Why?' --thread acme/shop#12 --wait"
      ]
    })
  )
)

export const teams: Group = {
  name: "team",
  about: "Teams of agents that work for webhooks.",
  commands: [
    list,
    create,
    showOne,
    leaderKeys,
    brokerRights,
    message,
    pause,
    resume,
    release,
    cancelQueued,
    replay,
    remove
  ]
}
