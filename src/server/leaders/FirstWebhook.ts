import { DateTime, Effect, Option, type Redacted } from "effect"
import { makeWebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { hashToken, makeToken, tokenHint } from "../../engine/verify/Token.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"

/** A team's first webhook, with its token only when it was created just now: only the token's hash is stored. */
export interface FirstWebhook {
  readonly webhook: Webhook
  readonly token: Option.Option<Redacted.Redacted>
}

/** Creates a webhook that is named after its team and has one variable. */
export const create = Effect.fnUntraced(function* (team: TeamName, prompt_template: string, variable: string) {
  const { createWebhook } = yield* WebhookStore
  const now = yield* DateTime.now
  const token = yield* makeToken
  const webhook = yield* createWebhook({
    id: yield* makeWebhookId,
    name: team,
    team,
    prompt_template,
    variables: [variable],
    enabled: true,
    token_hash: hashToken(token),
    token_hint: tokenHint(token),
    created_at: now,
    updated_at: now
  })
  return { webhook, token: Option.some(token) } satisfies FirstWebhook
})
