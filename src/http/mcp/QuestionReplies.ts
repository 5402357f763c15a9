/** Replies by callers who may not send messages. They can answer each question of an agent once, within the webhook's limits. */
import { randomBytes } from "node:crypto"
import { type DateTime, Effect, Result } from "effect"
import { includesWebhook } from "../../domain/access/Grant.ts"
import { Forbidden } from "../../domain/Errors.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import * as QuestionAnswers from "../../engine/trigger/QuestionAnswers.ts"
import * as Idempotency from "../trigger/Idempotency.ts"
import type { Caller } from "./Runs.ts"

interface Answer {
  readonly message: string
  readonly received_at: DateTime.Utc
  readonly idempotency_key: unknown
}

/** The member of `_meta` with a call's idempotency key. */
export const idempotencyMeta = "webhook-trigger/idempotency_key"

/** Whether the webhook is a tool of the caller. */
export const isToolOf = (
  { grant }: Caller,
  webhook: Pick<WebhookRow, "enabled" | "id" | "mcp_tool" | "team">
): boolean => webhook.enabled && webhook.mcp_tool !== undefined && includesWebhook(grant, webhook)

const noQuestion = new Forbidden({ detail: "Your role can only reply to a run whose agent asks a question." })
const answered = new Forbidden({ detail: "This question has been answered. Reply to the conversation's newest run." })

/** A repeat has the caller's own key, and another answer has not. */
const hashOf = ({ idempotency_key: given, message }: Answer) =>
  given === undefined
    ? Result.succeed(randomBytes(32))
    : Result.map(
        Idempotency.ofSender(idempotencyMeta, given, "reply", { message, key: given }),
        ({ idempotency }) => idempotency.request_hash
      )

/** Answers the question of the caller's own run, of a webhook that is a tool of the caller. */
export const make = Effect.gen(function* () {
  const reply = yield* QuestionAnswers.make

  return Effect.fnUntraced(function* (caller: Caller, run: Run, answer: Answer) {
    if (!QuestionAnswers.isQuestion(run)) return yield* noQuestion
    const request_hash = yield* Effect.fromResult(hashOf(answer))
    return yield* reply(run, { ...answer, request_hash, triggered_by: caller.id }, (webhook) =>
      isToolOf(caller, webhook)
    ).pipe(Effect.catchTag("IdempotencyKeyReused", () => answered))
  })
})
