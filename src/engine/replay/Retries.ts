import { DateTime, Duration, Effect, Metric, Result } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { HistoryStore, type WholeRun } from "../../repo/history/HistoryStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { RunStore } from "../../repo/run/RunStore.ts"
import * as Metrics from "../../telemetry/Metrics.ts"
import type { Settings } from "../Settings.ts"
import type { Candidate } from "../trigger/Candidates.ts"
import * as Candidates from "../trigger/Candidates.ts"
import { HandOver } from "../trigger/HandOver.ts"
import { webhooksOf } from "./WebhooksOfRuns.ts"

/** How long a webhook gets no retries after its queue was full. */
const restOfFullQueue = Duration.seconds(10)
/** Runs in one step. Each may have more than a megabyte of text. */
const portion = 50

/**
 * Tries failed runs again, each as a new run, if their webhook has `retries`. Driven by the rows: a failed run says since its
 * end when it is to be tried again, until, with the same commit, the new one is accepted. Two servers
 * at once do no harm.
 */
export const make: Effect.Effect<
  Effect.Effect<void, Unavailable>,
  never,
  HandOver | HistoryStore | RunStore | Settings | WebhookStore
> = Effect.gen(function* () {
  const { acceptAll } = yield* HandOver
  const history = yield* HistoryStore
  const runs = yield* RunStore
  const webhooks = yield* WebhookStore
  const candidates = yield* Candidates.make

  /** Webhooks whose queue is full: none of their retries are attempted until then. */
  const full = new Map<WebhookId, DateTime.Utc>()

  /** `undefined` if the webhook is disabled, no longer has retries, or was moved to another team, which gets no prompt of this one. */
  const candidateOf = (run: WholeRun, webhook: WebhookRow, received_at: DateTime.Utc): Candidate | undefined => {
    const { enabled, retries } = webhook
    const attempt = (run.attempt ?? 1) + 1
    return enabled && webhook.team === run.team && retries && attempt <= retries.max_retries + 1
      ? candidates.ofRetry(webhook, { run, retries, attempt, received_at })
      : undefined
  }

  /** Returns whether others may be due that can be accepted now. */
  const retrySome = Effect.gen(function* () {
    const now = yield* DateTime.now
    for (const [id, until] of full) if (DateTime.isLessThanOrEqualTo(until, now)) full.delete(id)
    const due = yield* runs.retriesDue(now, { limit: portion, except: [...full.keys()] })
    if (due.length === 0) return false
    const failed = new Map((yield* history.runsByIds(due)).map((run) => [run.run_id, run]))
    const known = yield* webhooksOf(webhooks, [...failed.values()])
    const calledOff: Array<RunId> = []
    const retries: Array<Candidate> = []
    for (const id of due) {
      const run = failed.get(id)
      const webhook = run?.webhook_id && known.get(run.webhook_id)
      const candidate = run && webhook && candidateOf(run, webhook, now)
      if (candidate) retries.push(candidate)
      else calledOff.push(id)
    }
    if (calledOff.length > 0) yield* runs.callOffRetries(calledOff)
    const answers = retries.length === 0 ? [] : yield* acceptAll(retries)
    let isStuck = false
    for (const [index, { run }] of retries.entries()) {
      const answer = answers[index]!
      if (Result.isSuccess(answer)) Metrics.record(retried, 1, { team: run.team })
      else if (answer.failure._tag === "TooManyQueued" && answer.failure.of === "webhook") {
        full.set(run.webhook!.id, DateTime.addDuration(now, restOfFullQueue))
      } else isStuck = true
    }
    return due.length === portion && !isStuck
  })

  return Effect.asVoid(Effect.repeat(retrySome, { while: (more) => more }))
})

const retried = Metric.counter("webhook_retries_total", {
  description: "Failed runs that were tried again, by their webhook's `retries`.",
  incremental: true
})
