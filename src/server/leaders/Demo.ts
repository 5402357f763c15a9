import { DateTime, Effect, type Layer, Option } from "effect"
import type { LeaderBus } from "../../bus/Bus.ts"
import { TeamName } from "../../domain/Team.ts"
import * as Leader from "../../leader/Leader.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as FirstWebhook from "./FirstWebhook.ts"

/** The team of the embedded default, and the name of its webhook. */
export const demo = TeamName.make("demo")

/** Leads the demo team in this process: the answer is the prompt itself. */
export const leader: Layer.Layer<never, never, LeaderBus> = Leader.layer({
  team: demo,
  handler: ({ prompt }) => Effect.succeed(prompt)
})

/** Creates the demo team and its webhook in an empty database, and finds them in one that has them. */
export const prepare = Effect.gen(function* () {
  const { createTeam, teams: allTeams } = yield* TeamStore
  const webhooks = yield* (yield* WebhookStore).webhooks
  const teams = yield* allTeams
  const isUnused = webhooks.length === 0 && teams.every(({ team }) => team === demo)
  if (!isUnused) {
    const webhook = webhooks.find(({ name, team }) => team === demo && name === demo)
    return Option.map(
      Option.fromNullable(webhook),
      (webhook): FirstWebhook.FirstWebhook => ({ webhook, token: Option.none() })
    )
  }
  if (teams.length === 0) yield* createTeam(demo, yield* DateTime.now)
  return Option.some<FirstWebhook.FirstWebhook>(yield* FirstWebhook.create(demo, "Say hello to {{name}}.", "name"))
}).pipe(Effect.withSpan("Demo.prepare"))
