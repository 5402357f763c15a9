/** How the `leader` command gets its team's prompts: through the broker, or over HTTP. */
import { Effect, Option, Redacted } from "effect"
import type { LeaderBus } from "../../bus/Bus.ts"
import * as LeaderHttp from "../../bus/http/LeaderHttp.ts"
import { exitCodes, Failure, usage } from "../../cli/Failure.ts"
import type { TeamName } from "../../domain/Team.ts"
import * as Buses from "../drivers/Buses.ts"
import type { CommandEnvironment } from "../environment/LeaderEnvironment.ts"

interface LeaderConnection {
  /** The secret that opens it. No program that works on prompts may read it. */
  readonly secret: { readonly name: string; readonly value: string }
  /** Runs the leader of the team. `place`: where its prompts are, in words without a secret. */
  readonly lead: <E>(
    leading: (team: TeamName, place: string) => Effect.Effect<never, E, LeaderBus>
  ) => Effect.Effect<never, E | Failure>
}

const refused = (title: string) => (detail: string) => new Failure({ exit: exitCodes.refused, title, detail })
const notStarted = refused("The leader did not start")
const stopped = refused("The leader stopped")

const overHttp = (options: LeaderHttp.LeaderHttpOptions, wanted: Option.Option<TeamName>): LeaderConnection => ({
  secret: { name: "the leader key", value: Redacted.value(options.key) },
  lead: (leading) =>
    Effect.gen(function* () {
      const { refused, team } = yield* LeaderHttp.Access
      if (Option.isSome(wanted) && wanted.value !== team) {
        return yield* notStarted(LeaderHttp.wrongTeam(team, wanted.value).message)
      }
      const refusal = Effect.mapError(refused, ({ message }) => stopped(message))
      return yield* Effect.raceFirst(leading(team, options.url), refusal)
    }).pipe(
      Effect.provide(LeaderHttp.layer(options)),
      Effect.catchIf(
        (error) => error instanceof LeaderHttp.LeaderRefused,
        ({ message }) => notStarted(message)
      )
    )
})

const throughBroker = (environment: CommandEnvironment, team: Option.Option<TeamName>) =>
  Effect.gen(function* () {
    const { leader, leaderBus } = Buses.choose(environment)
    if (leader === undefined) {
      return yield* usage(
        "a leader needs its server: set --url and --key-file, or the broker's address with --amqp-url-file, AMQP_URL or --amqp-url. Other processes cannot reach the embedded bus of a server without AMQP_URL"
      )
    }
    if (Option.isNone(team)) return yield* usage("--team is missing")
    const place = `${leader.queueOf(team.value)}; a team unknown to the server receives none`
    return {
      secret: { name: "the broker's address, with its password,", value: Redacted.value(leader.url) },
      lead: (leading) => Effect.provide(leading(team.value, place), leaderBus)
    } satisfies LeaderConnection as LeaderConnection
  })

/** The one that the settings name. */
export const choose = (
  environment: CommandEnvironment,
  team: Option.Option<TeamName>
): Effect.Effect<LeaderConnection, Failure> => {
  const { amqpUrl, leaderKey, leaderUrl } = environment
  if (Option.isNone(leaderUrl)) {
    return Option.isNone(leaderKey) || Option.isSome(amqpUrl)
      ? throughBroker(environment, team)
      : usage("a leader key needs the server's address: set --url or LEADER_URL")
  }
  if (Option.isSome(amqpUrl)) return usage("use either the server's address (LEADER_URL) or the broker's (AMQP_URL)")
  if (Option.isNone(leaderKey)) return usage("set --key-file or LEADER_KEY: a leader over HTTP needs a key of its team")
  return Effect.succeed(overHttp({ url: leaderUrl.value, key: leaderKey.value }, team))
}
