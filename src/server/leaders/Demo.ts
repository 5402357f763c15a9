import { DateTime, Effect, Exit, Layer, Option, Scope } from "effect"
import type { LeaderBus } from "../../bus/Bus.ts"
import { TeamName } from "../../domain/Team.ts"
import { TeamLeaders } from "../../engine/leaders/TeamLeaders.ts"
import * as Leader from "../../leader/Leader.ts"
import { LeaderKeyStore } from "../../repo/access/LeaderKeyStore.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import type { BusDriver } from "../drivers/Buses.ts"
import * as FirstWebhook from "./FirstWebhook.ts"
import type * as LocalLeaders from "./LocalLeaders.ts"

/** The team of the embedded default, and the name of its webhook. */
const demo = TeamName.make("demo")

/** The demo team is led by this process unless the operator says who leads it. */
export const isWanted = (
  { agents, leaders }: Pick<LocalLeaders.Options, "agents" | "leaders">,
  { hasDemoTeam = false }: BusDriver
): boolean => hasDemoTeam && ![...leaders, ...agents].some(({ team }) => team === demo)

const echo = Leader.start({ team: demo, handler: ({ prompt }) => Effect.succeed(prompt) })

/** How often this process looks whether the team has another leader. */
const interval = "1 second"

/** A team with a key is led over HTTP, even while no leader is there. */
const hasKey = Effect.flatMap(LeaderKeyStore, ({ leaderKeys }) => leaderKeys(demo)).pipe(
  Effect.map((keys) => keys.length > 0),
  Effect.orElseSucceed(() => false)
)

/** Leads the demo team in this process until the operator's leader does: the answer is the prompt itself. */
export const leader: Layer.Layer<never, never, LeaderBus | LeaderKeyStore | TeamLeaders> = Layer.effectDiscard(
  Effect.gen(function* () {
    if (yield* hasKey) return
    const { count } = yield* TeamLeaders
    const hasOther = Effect.map(count(demo), (leaders) => leaders > 1)
    const untilReplaced = Effect.repeat(Effect.delay(hasOther, interval), { until: (hasOther) => hasOther })
    const leading = yield* Scope.fork(yield* Effect.scope)
    yield* Scope.provide(echo, leading)
    yield* Effect.forkScoped(Effect.andThen(untilReplaced, Scope.close(leading, Exit.void)))
  })
)

/** Creates the demo team and its webhook in an empty database, and finds them in one that has them. */
export const prepare = Effect.gen(function* () {
  const { createTeam, teams: allTeams } = yield* TeamStore
  const webhooks = yield* (yield* WebhookStore).webhooks
  const teams = yield* allTeams
  const isUnused = webhooks.length === 0 && teams.every(({ team }) => team === demo)
  if (!isUnused) {
    const webhook = webhooks.find(({ name, team }) => team === demo && name === demo)
    return Option.map(
      Option.fromNullishOr(webhook),
      (webhook): FirstWebhook.FirstWebhook => ({ webhook, token: Option.none() })
    )
  }
  if (teams.length === 0) {
    // The server listens already, so somebody else may create the team at the same moment.
    yield* Effect.catchTag(createTeam(demo, yield* DateTime.now), "TeamExists", () => Effect.void)
  }
  return Option.some<FirstWebhook.FirstWebhook>(yield* FirstWebhook.create(demo, "Say hello to {{name}}.", "name"))
}).pipe(Effect.withSpan("Demo.prepare"))
