import { DateTime, Effect, type Layer, Option, type Redacted } from "effect"
import type { LeaderBus } from "../bus/Bus.ts"
import { makeWebhookId } from "../domain/Id.ts"
import { TeamName } from "../domain/Team.ts"
import type { Webhook } from "../domain/webhook/Webhook.ts"
import { hashToken, makeToken, tokenHint } from "../engine/verify/Token.ts"
import * as Leader from "../leader/Leader.ts"
import { TeamStore } from "../repo/TeamStore.ts"
import { WebhookStore } from "../repo/WebhookStore.ts"

/** The team of the embedded default, and the name of its webhook. */
export const demo = TeamName.make("demo")

/** Leads the demo team in this process: the answer is the prompt itself. */
export const leader: Layer.Layer<never, never, LeaderBus> = Leader.layer({
  team: demo,
  handler: ({ prompt }) => Effect.succeed(prompt)
})

/** The demo webhook; with its token only when it was created just now, as only the token's hash is stored. */
export interface Demo {
  readonly webhook: Webhook
  readonly token: Option.Option<Redacted.Redacted>
}

/** Creates the demo team and its webhook in an empty database, and finds them in one that has them. */
export const prepare = Effect.gen(function* () {
  const { createTeam, teams: allTeams } = yield* TeamStore
  const { createWebhook, webhooks: allWebhooks } = yield* WebhookStore
  const webhooks = yield* allWebhooks
  const teams = yield* allTeams
  const isUnused = webhooks.length === 0 && teams.every(({ team }) => team === demo)
  if (!isUnused) {
    const webhook = webhooks.find(({ name, team }) => team === demo && name === demo)
    return Option.map(Option.fromNullable(webhook), (webhook): Demo => ({ webhook, token: Option.none() }))
  }
  const now = yield* DateTime.now
  if (teams.length === 0) yield* createTeam(demo, now)
  const token = yield* makeToken
  const webhook = yield* createWebhook({
    id: yield* makeWebhookId,
    name: demo,
    team: demo,
    prompt_template: "Say hello to {{name}}.",
    variables: ["name"],
    enabled: true,
    token_hash: hashToken(token),
    token_hint: tokenHint(token),
    created_at: now,
    updated_at: now
  })
  return Option.some<Demo>({ webhook, token: Option.some(token) })
}).pipe(Effect.withSpan("Demo.prepare"))
