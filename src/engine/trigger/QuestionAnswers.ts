/**
 * Answers to questions of agents, and replies in a chat, by people who may not send messages: each question gets one answer, each
 * reply one run, within the webhook's limits.
 */
import { type DateTime, Effect } from "effect"
import { NotFound } from "../../domain/Errors.ts"
import type { NamedFile } from "../../domain/run/Attachments.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { ChatMessage } from "../../repo/delivery/DeliveryStore.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import * as Audit from "../access/Audit.ts"
import { Threads } from "../manage/Threads.ts"
import { Trigger } from "./Trigger.ts"

export interface QuestionAnswer {
  readonly message: string
  readonly received_at: DateTime.Utc
  /** Tells a repeat from another answer. */
  readonly request_hash: Uint8Array
  readonly triggered_by: string
  /** For a reply in a chat, which may follow any answer: the message and the thread in which it stands. */
  readonly chat?: ChatMessage
  readonly files?: ReadonlyArray<NamedFile>
}

/** Whether the answer is a question. */
export const isQuestion = (run: Run): run is Run & Required<Pick<Run, "asks">> =>
  run.status === "success" && run.asks !== undefined

/**
 * A reply is a prompt of its own, which no template limits. It is a run of the webhook, and counts towards its limits. Fails with
 * `IdempotencyKeyReused` if the question has another answer.
 */
export const make = Effect.gen(function* () {
  const history = yield* HistoryStore
  const threads = yield* Threads
  const trigger = yield* Trigger

  return Effect.fnUntraced(function* (
    run: Run,
    { chat, files = [], message, received_at, request_hash, triggered_by }: QuestionAnswer,
    isAllowed: (webhook: WebhookRow) => boolean
  ) {
    if (run.webhook_id === undefined) return yield* new NotFound()
    const webhook = yield* trigger.open(run.webhook_id)
    if (!isAllowed(webhook)) return yield* new NotFound()
    const thread = yield* threads.ofReply(run.run_id)
    const isLast = history
      .runs({ thread_id: thread.id, limit: 1 })
      .pipe(Effect.map(({ data }) => data[0]?.run_id === run.run_id))
    // The destinations' targets may need those of the run.
    const variables = { ...run.variables, ...(chat && { slack_thread: chat.thread }) }
    const request = {
      ...{ variables, received_at, wait: false, thread_key: thread.key, triggered_by },
      ...(files.length > 0 && { files }),
      // Contains a line break, so that it cannot equal a caller's key.
      idempotency: { key: `reply\n${chat?.id ?? run.run_id}`, request_hash },
      answer: { message, isAnswered: chat === undefined && !(yield* isLast) }
    }
    /** By the webhook as it is when the reply is accepted. */
    const read = (webhook: WebhookRow) =>
      isAllowed(webhook) && webhook.team === thread.team ? Effect.succeed(request) : Effect.fail(new NotFound())
    const sent = Effect.map(trigger.triggerRead(webhook, read), ({ submitted }) => submitted)
    const submitted = yield* Audit.recordStart("run.replied", run.run_id)(sent)
    return submitted._tag === "Ignored" ? yield* new NotFound() : submitted
  })
})
