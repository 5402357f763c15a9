import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect, Layer } from "effect"
import { describeMeasured, pausedCondition } from "../../../domain/alert/AlertCondition.ts"
import type { WebhookId } from "../../../domain/Id.ts"
import type { RunError } from "../../../domain/run/Run.ts"
import { quietTime } from "../../alert/AlertChanges.ts"
import { keptKey, newestRuns, type PauseDue, PauseStore } from "../../manage/PauseStore.ts"
import { audited, changedWebhookFields } from "../access/Audit.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { lastSuccess } from "../history/LastSuccess.ts"
import { alertResolved, alertSent } from "./PauseAlerts.ts"

export const layer: Layer.Layer<PauseStore, never, SqlClient.SqlClient> = Layer.effect(
  PauseStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** The newest runs of a webhook `w` with this status, as an index has them. */
    const newest = (status: string, seq: Statement.Fragment, limit: Statement.Fragment) => sql`(
      select r.finished_at from webhook_trigger.runs r
      where r.webhook_id = w.id and r.status = ${status} and r.seq > ${seq}
        and r.error_code is distinct from ${"budget_exceeded" satisfies RunError["code"]} order by r.seq desc limit ${limit}
    )`
    const mayCount = sql`w.pause_after_failures + ${newestRuns}::int`

    const pausesDue = bounded(
      sql<{ readonly webhook_id: WebhookId; readonly version: number; readonly failures: number | null }>`
        select w.id as webhook_id, w.version, failed.failures from webhook_trigger.webhooks w ${lastSuccess(sql)}
        cross join lateral (
          select count(*)::int as failures from (
            ${newest("error", sql`good.seq`, mayCount)} union all ${newest("timeout", sql`good.seq`, mayCount)}
          ) as each
          where w.failures_since is null or each.finished_at > w.failures_since
        ) as failed
        where w.pause_after_failures is not null and w.enabled and w.paused_at is null
          and failed.failures >= w.pause_after_failures
        union all
        select w.id, w.version, null from webhook_trigger.webhooks w
        where w.paused_at is not null and (w.pause_after_failures is null or exists (
          select from ${newest("success", sql`0`, sql`${newestRuns}::int`)} as each where each.finished_at > w.paused_at
        ))`
    ).pipe(
      Effect.map((rows) =>
        rows.map(({ failures, ...due }): PauseDue => ({ ...due, ...(failures !== null && { failures }) }))
      ),
      Effect.withSpan("PauseStore.pausesDue")
    )

    const anyMayPause = bounded(
      sql<{ readonly used: boolean }>`
        select exists (select from webhook_trigger.webhooks where pause_after_failures is not null)
          or exists (select from webhook_trigger.webhooks where paused_at is not null) as used`
    ).pipe(
      Effect.map(([row]) => row!.used),
      Effect.withSpan("PauseStore.anyMayPause")
    )

    const change = sql`
      select changed.id::text as object, ${changedWebhookFields(sql, "earlier", "changed")} as before,
        ${changedWebhookFields(sql, "changed", "earlier")} as after
      from changed join earlier using (id)`

    const sent = sql`
      ${notify(sql, "WebhookChanged", sql`select id::text as name from changed`)}
      select (select count(*) from due_notified), (select count(*) from notified) from changed`

    const pauseWebhook = Effect.fn("PauseStore.pauseWebhook")(function* (
      ...[{ failures, version, webhook_id }, alert, audit]: Parameters<PauseStore["Type"]["pauseWebhook"]>
    ) {
      const at = DateTime.toDateUtc(alert.at)
      const reason = describeMeasured("failures_in_a_row", failures)
      const rows = yield* sql`
        with earlier as materialized (
          select * from webhook_trigger.webhooks where id = ${webhook_id} and version = ${version} and paused_at is null
          for update
        ), changed as (
          update webhook_trigger.webhooks w set paused_at = ${at}, paused_by = 'automatic', paused_reason = ${reason},
            version = w.version + 1
          from earlier where w.id = earlier.id returning w.*
        ), ${audited(sql, audit, change)}, alert as (
          insert into webhook_trigger.alerts (
            id, subject, condition, state, name, webhook_id, team, threshold, value, since, notified_at
          )
          select ${alert.id}::uuid, 'webhook ' || id, ${pausedCondition}, 'firing', name, id, team, pause_after_failures,
            ${failures}::float8, ${at}::timestamptz, case when not exists (
              select from webhook_trigger.alerts before where before.webhook_id = changed.id
                and before.condition = ${pausedCondition} and before.notified_at > ${quietSince(alert.at)}
            ) then ${at}::timestamptz end
          from changed returning id, notified_at
        ), ${alertSent(sql, "alert.firing", at)}, ${sent}`
      return rows.length > 0
    }, bounded)

    const resumeWebhook = Effect.fn("PauseStore.resumeWebhook")(function* (
      ...[id, time, { audit, version } = {}]: Parameters<PauseStore["Type"]["resumeWebhook"]>
    ) {
      const at = DateTime.toDateUtc(time)
      const rows = yield* sql`
        with earlier as materialized (
          select * from webhook_trigger.webhooks where id = ${id} and paused_at is not null
            and ${version === undefined ? sql`true` : sql`version = ${version}`}
          for update
        ), changed as (
          update webhook_trigger.webhooks w set paused_at = null, paused_by = null, paused_reason = null,
            failures_since = ${at}, version = w.version + 1
          from earlier where w.id = earlier.id returning w.*
        ), kept as (
          update webhook_trigger.windows w set until = ${at} from changed
          where w.webhook_id = changed.id and w.key like ${`${keptKey}%`} returning w.run_id
        ), waiting as (
          update webhook_trigger.runs r set collecting_until = ${at},
            deadline_at = ${at}::timestamptz + (r.deadline_at - r.collecting_until)
          from kept where r.id = kept.run_id and r.status = 'queued'
        ), ${audited(sql, audit, change)}, ${alertResolved(sql, at)}, ${sent}`
      return rows.length > 0
    }, bounded)

    return PauseStore.of({ anyMayPause, pausesDue, pauseWebhook, resumeWebhook })
  })
)

const quietSince = (at: DateTime.Utc): Date => DateTime.toDateUtc(DateTime.subtractDuration(at, quietTime))
