import { DateTime, Effect } from "effect"
import type { Alert } from "../../domain/alert/Alert.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import { alertIdAt, makeAlertRuleId, makeRunId, makeWebhookId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { HistoryStore } from "../../repo/history/HistoryStore.ts"

/**
 * Finds the run that a test event of a webhook is about: its last one that has ended in its team, else an
 * invented one.
 */
export const make = Effect.map(HistoryStore, ({ run, runs }) => {
  const lastEnded = (webhook: Webhook): Effect.Effect<Run | undefined, Unavailable> =>
    runs({ webhook_id: webhook.id, owners: [webhook.team], statuses: finalStatuses, limit: 1 }).pipe(
      Effect.flatMap(({ data: [last] }) => (last === undefined ? Effect.succeed(undefined) : run(last.run_id))),
      Effect.catchTags({ NotFound: () => Effect.succeed(undefined), InvalidParameter: Effect.die })
    )

  const invented = (webhook: Webhook): Effect.Effect<Run> =>
    Effect.map(Effect.all([makeRunId, DateTime.now]), ([run_id, now]) => ({
      run_id,
      source: "webhook",
      webhook_id: webhook.id,
      team: webhook.team,
      mode: "async",
      status: "success",
      accepted_at: now,
      started_at: now,
      finished_at: now,
      duration_ms: 0,
      variables: Object.fromEntries(webhook.variables.map((name) => [name, "sample"])),
      conversation: { prompt: webhook.prompt_template, response: "A sample answer." }
    }))

  return (webhook: Webhook) =>
    Effect.flatMap(lastEnded(webhook), (last) => (last === undefined ? invented(webhook) : Effect.succeed(last)))
})

/** An invented alert, for a test of an alert destination. */
export const alert: Effect.Effect<Alert> = Effect.gen(function* () {
  const now = yield* DateTime.now
  return {
    id: alertIdAt(DateTime.toEpochMillis(now)),
    rule_id: yield* makeAlertRuleId,
    condition: "failures_in_a_row",
    state: "firing",
    name: "sample",
    webhook_id: yield* makeWebhookId,
    threshold: 3,
    value: 3,
    since: now,
    notified_at: now
  }
})
