/** Replies by callers who may not send messages. They can answer each question of an agent once, within the webhook's limits. */
import { randomBytes } from "node:crypto"
import { type DateTime, Effect, Either } from "effect"
import { includesWebhook } from "../../domain/access/Grant.ts"
import { Forbidden, NotFound } from "../../domain/Errors.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { Trigger } from "../../engine/accept/Trigger.ts"
import * as Audit from "../../engine/access/Audit.ts"
import { Threads } from "../../engine/manage/Threads.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
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

/**
 * The key of a question, by which it gets one answer. Contains a line break, so that it cannot equal a caller's key. The
 * hash tells a repeat, which has the caller's own key, from another answer.
 */
const keyOf = ({ run_id }: Run, { idempotency_key: given, message }: Answer) =>
  Either.map(
    given === undefined
      ? Either.right(randomBytes(32))
      : Either.map(
          Idempotency.ofSender(idempotencyMeta, given, "reply", { message, key: given }),
          ({ idempotency }) => idempotency.request_hash
        ),
    (request_hash) => ({ key: `reply\n${run_id}`, request_hash })
  )

/**
 * Answers the question of the caller's own run. A reply is a prompt of its own, which no template limits. So a role that only
 * starts runs answers questions, and only of webhooks that are its tools. The reply is a run of the webhook: it counts
 * towards the webhook's limits.
 */
export const make = Effect.gen(function* () {
  const history = yield* HistoryStore
  const threads = yield* Threads
  const trigger = yield* Trigger

  return Effect.fnUntraced(function* (caller: Caller, run: Run, answer: Answer) {
    if (run.status !== "success" || run.asks === undefined) return yield* noQuestion
    if (run.webhook_id === undefined) return yield* new NotFound()
    const idempotency = yield* keyOf(run, answer)
    const webhook = yield* trigger.open(run.webhook_id)
    if (!isToolOf(caller, webhook)) return yield* new NotFound()
    const thread = yield* threads.ofReply(run.run_id)
    const { data } = yield* history.runs({ thread_id: thread.id, limit: 1 })
    const { message, received_at } = answer
    const request = {
      ...{ variables: {}, received_at, wait: false, thread_key: thread.key, triggered_by: caller.id, idempotency },
      answer: { message, isAnswered: data[0]?.run_id !== run.run_id }
    }
    /** By the webhook as it is when the reply is accepted. */
    const read = (webhook: WebhookRow) =>
      isToolOf(caller, webhook) && webhook.team === thread.team ? Effect.succeed(request) : Effect.fail(new NotFound())
    const sent = Effect.map(trigger.triggerRead(webhook, read), ({ submitted }) => submitted)
    const submitted = yield* Audit.recordStart(
      "run.replied",
      run.run_id
    )(sent).pipe(Effect.catchTag("IdempotencyKeyReused", () => answered))
    return submitted._tag === "Ignored" ? yield* new NotFound() : submitted
  })
})
