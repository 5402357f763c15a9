import { Effect, Option } from "effect"
import { Argument, Flag } from "effect/cli"
import type { Server } from "../api/Overview.ts"
import type { Team, TeamWork } from "../domain/Team.ts"
import { teamNameAccepts, teamNamePattern } from "../domain/TeamName.ts"
import { leaderKeys } from "./Access.ts"
import { commandsOf, rightsOf } from "./BrokerRights.ts"
import { flags } from "./Call.ts"
import { derived, group, local } from "./Command.ts"
import { usage } from "./Failure.ts"
import { fields, listText, plural, print, printJson, section, time, timeAndAge, yesNo } from "./Output.ts"
import { ownCommand } from "./OwnCommand.ts"
import { teamArgument } from "./Rules.ts"
import { cancelledText, queuedText, replayMany } from "./run/Many.ts"
import { messageCommand } from "./run/Messages.ts"

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

const broker = {
  vhost: Flag.String("vhost").pipe(
    Flag.withMetavar("name"),
    Flag.withDescription("The broker's virtual host (the path of AMQP_URL)"),
    Flag.withDefault("/")
  ),
  user: Flag.String("broker-user").pipe(
    Flag.withMetavar("name"),
    Flag.withDescription("The leader's user on the broker; default: team-<team>"),
    Flag.optional
  )
}
const withRights = Flag.Boolean("broker-rights").pipe(
  Flag.withDescription("Also print the commands that grant the team's leader its rights on RabbitMQ"),
  Flag.withDefault(false)
)

const brokerRights = local(
  "broker-rights",
  {
    about: "Print the commands that grant a team's leader its rights on RabbitMQ",
    details:
      "The leader's user gets access to this team only. Run the commands where rabbitmqctl is installed; the first asks for a password. Printing them changes nothing.",
    examples: ["webhook-trigger team broker-rights deploy --vhost webhooks"]
  },
  { team: Argument.String("team"), ...broker, json: flags.json },
  ({ team, json, ...options }) => {
    if (!teamNamePattern.test(team)) return Effect.fail(usage(`<team> ${teamNameAccepts}`))
    const rights = rightsOf(team, options)
    return json ? printJson(rights) : print(commandsOf(rights))
  }
)

/** The ways that this server has, to be pasted. */
const waysToLead = (team: string, url: string, server: Server | undefined): ReadonlyArray<string> => [
  `Over HTTP, with a key of the team:
  ${ownCommand} team leader-key create ${team} --name ${team} > ${team}.key
  ${ownCommand} leader --url ${url} --key-file ${team}.key -- cat`,
  ...(server === undefined
    ? []
    : server.bus === "embedded"
      ? [`In the server, when it starts again:\n  ${server.command} serve --leader '${team}=cat'`]
      : [`Over RabbitMQ, with the server's AMQP_URL:\n  ${ownCommand} leader --team ${team} -- cat`])
]

export const teams = group("team", "Teams of agents that work for webhooks.", [
  derived("list", "teams.list", {
    text: listText<Team>(
      {
        TEAM: "team",
        RUNNING: "running",
        LEADERS: "consumers",
        QUEUED: "queued",
        PAUSED: pausedText,
        CREATED: "created_at"
      },
      "No teams yet. Create one: webhook-trigger team create <team>"
    )
  }),
  derived("create", "teams.create", {
    details:
      "The team is running once its leader is connected. Prints how to connect one to this server; see also webhook-trigger leader --help and docs/use/leaders.md.",
    examples: ["webhook-trigger team create deploy", "webhook-trigger team create deploy --broker-rights"],
    rules: { team: teamArgument },
    more: { withRights, ...broker },
    also: ({ team }, { more }) => (more.withRights ? { broker_rights: rightsOf(team, more) } : {}),
    // The team is there, even if the server does not say more.
    beside: (client) => Effect.map(Effect.option(client.overview.server()), Option.getOrUndefined),
    text: ({ team }, { connection, more }, server) =>
      [
        `Team ${team} created. It needs a leader; replace cat by your agent, which reads the prompt and prints the answer.`,
        ...waysToLead(team, connection.url, server),
        ...(more.withRights ? [commandsOf(rightsOf(team, more))] : [])
      ].join("\n\n")
  }),
  derived("show", "teams.show", { text: describe }),
  leaderKeys,
  brokerRights,
  messageCommand("message", "teams.message", {
    examples: [
      "webhook-trigger team message deploy 'What is running now?' --wait",
      "webhook-trigger team message review 'Why?' --thread acme/shop#12 --wait"
    ]
  }),
  derived("pause", "teams.pause", {
    text: ({ queued, team }) =>
      `Team ${team} is paused, ${queued} queued. Resume it: webhook-trigger team resume ${team}`
  }),
  derived("resume", "teams.resume", { text: ({ team }) => `Team ${team} resumed.` }),
  derived("release", "teams.release", {
    ask: ({ request }) => `Release the team ${request.params.team}? Agents that do not stop work beside the next one.`,
    text: ({ released }) => `${plural(released.length, "run")} released.`
  }),
  derived("cancel-queued", "teams.cancelQueued", {
    ask: ({ request, send }) =>
      Effect.map(
        send({ query: { dry_run: "true" } }),
        (queued) => `Cancel all queued runs of the team ${request.params.team}: ${queuedText(queued)}?`
      ),
    text: cancelledText
  }),
  replayMany(
    "a team's webhooks and failed messages",
    "webhook-trigger team replay deploy --yes",
    { team: teamArgument },
    ({ request }) => `the team ${request.payload.team}`
  ),
  derived("delete", "teams.delete", {
    ask: ({ request }) => `Delete the team ${request.params.team} and its chat messages, permanently?`,
    text: (_, { request }) => `Team ${request.params.team} deleted.`
  })
])
