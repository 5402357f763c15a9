import { Clock, Effect, type Layer, Option, type Redacted } from "effect"
import type { LeaderBus } from "../bus/Bus.ts"
import { makeWebhookId } from "../domain/Id.ts"
import { TeamName } from "../domain/Team.ts"
import type { Webhook } from "../domain/Webhook.ts"
import { hashToken, makeToken, tokenHint } from "../engine/Token.ts"
import * as Leader from "../leader/Leader.ts"
import { Repo } from "../repo/Repo.ts"

/** The team of the embedded default, and what its webhook is called. */
export const demo = TeamName.make("demo")

/** Leads the demo team in this process: the answer is the prompt itself. */
export const leader: Layer.Layer<never, never, LeaderBus> = Leader.layer({
  team: demo,
  handler: ({ prompt }) => Effect.succeed(prompt)
})

/** The demo webhook; its token only when it was made just now, for nobody can read it later. */
export interface Demo {
  readonly webhook: Webhook
  readonly token: Option.Option<Redacted.Redacted>
}

/** Makes the demo team and its webhook in an empty database, and finds them in one that has them. */
export const prepare = Effect.gen(function* () {
  const repo = yield* Repo
  const webhooks = yield* repo.webhooks
  const teams = yield* repo.teams
  const untouched = webhooks.length === 0 && teams.every(({ team }) => team === demo)
  if (!untouched) {
    const webhook = webhooks.find(({ name, team }) => team === demo && name === demo)
    return Option.map(Option.fromNullable(webhook), (webhook): Demo => ({ webhook, token: Option.none() }))
  }
  const at = new Date(yield* Clock.currentTimeMillis)
  if (teams.length === 0) yield* repo.createTeam(demo, at)
  const token = yield* makeToken
  const webhook = yield* repo.createWebhook({
    id: yield* makeWebhookId,
    name: demo,
    team: demo,
    prompt_template: "Say hello to {{name}}.",
    variables: ["name"],
    enabled: true,
    token_hash: hashToken(token),
    token_hint: tokenHint(token),
    created_at: at
  })
  return Option.some<Demo>({ webhook, token: Option.some(token) })
}).pipe(Effect.withSpan("Demo.prepare"))
