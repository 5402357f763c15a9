/** Replies by callers who may not send messages. They can answer each question of an agent once. */
import { Effect } from "effect"
import { includesWebhook } from "../../domain/access/Grant.ts"
import { mayDo } from "../../domain/access/Roles.ts"
import { Forbidden, NotFound } from "../../domain/Errors.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { Trigger } from "../../engine/accept/Trigger.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"
import type { Caller } from "./Runs.ts"

/** Whether the webhook is a tool of the caller. */
export const isToolOf = ({ grant }: Caller, webhook: Webhook): boolean =>
  webhook.enabled && webhook.mcp_tool !== undefined && includesWebhook(grant, webhook)

const noQuestion = new Forbidden({ detail: "Your role can only reply to a run whose agent asks a question." })
const answered = new Forbidden({ detail: "This question has been answered. Reply to the conversation's newest run." })

/**
 * Checks a reply to one of the caller's own runs. A reply is a prompt that no template limits. So a role that only
 * starts runs can only answer questions, and only while the webhook of the conversation is one of its tools.
 */
export const make = Effect.gen(function* () {
  const history = yield* HistoryStore
  const trigger = yield* Trigger

  return Effect.fnUntraced(function* (caller: Caller, run: Run) {
    if (mayDo(caller.grant.role, "operate")) return
    if (run.status !== "success" || run.asks === undefined) return yield* noQuestion
    const { thread } = run
    const newest = (source?: "webhook") =>
      thread === undefined
        ? Effect.succeed(run)
        : Effect.map(
            history.runs({ thread_id: thread.id, triggered_by: caller.id, limit: 1, ...(source && { source }) }),
            ({ data: [first] }) => first
          )
    if ((yield* newest())?.run_id !== run.run_id) return yield* answered
    const webhook_id = run.webhook_id ?? (yield* newest("webhook"))?.webhook_id
    if (webhook_id === undefined || !isToolOf(caller, yield* trigger.open(webhook_id))) return yield* new NotFound()
  })
})
