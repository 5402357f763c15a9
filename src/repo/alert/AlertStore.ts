import { Context, DateTime, Duration, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import { Alert, type AlertState } from "../../domain/alert/Alert.ts"
import { AlertRule, type AlertRuleEdit } from "../../domain/alert/AlertRule.ts"
import { Invalid, NotFound } from "../../domain/Errors.ts"
import type { AlertRuleId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { audited, shownFields } from "../access/Audit.ts"
import { isOfCurrentTeam, isTeamOf } from "../access/Ownership.ts"
import { notify } from "../Changes.ts"
import { type ColumnTypes, fromRow, list, recordset, toColumns, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { changesOf, keyOf, type Measurement, type StoredAlert } from "./AlertChanges.ts"
import { makeMeasured } from "./Measured.ts"

export interface AlertQuery {
  readonly state?: AlertState
  readonly webhook_id?: WebhookId
  /** Only alerts of these teams. */
  readonly owners?: ReadonlyArray<TeamName>
  readonly limit: number
}

/** Fields to overwrite; `null` removes one. */
type AlertRuleChange = AlertRuleEdit & { readonly updated_at: DateTime.Utc }

/** Why a rule may not be beside the others; `undefined`: it may. */
export type RuleFaultBeside = (others: ReadonlyArray<AlertRule>) => Invalid | undefined

const auditedFields = Object.keys(AlertRule.fields).filter(
  (field) => !["id", "created_at", "updated_at"].includes(field)
)

const shown = shownFields(auditedFields)

const alertTypes: ColumnTypes = {
  id: "uuid",
  rule_id: "uuid",
  subject: "text",
  condition: "text",
  state: "text",
  name: "text",
  webhook_id: "uuid",
  team: "text",
  destination_id: "uuid",
  threshold: "float8",
  value: "float8",
  since: "timestamptz",
  resolved_at: "timestamptz",
  notified_at: "timestamptz"
}
const alertColumns = Object.keys(alertTypes)

const ruleFromRow = (row: object): AlertRule => fromRow<AlertRule>(row)

/** The rules of alerts, the alerts, and what rules measure. A change of a rule writes its audit event in the same commit. */
export class AlertStore extends Context.Service<AlertStore>()("webhook-trigger/AlertStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const measured = yield* makeMeasured

    /** In a transaction. */
    const check = Effect.fnUntraced(function* (faultBeside: RuleFaultBeside, self?: AlertRuleId) {
      yield* sql`lock table webhook_trigger.alert_rules in share row exclusive mode`
      const fault = faultBeside((yield* rules).filter(({ id }) => id !== self))
      if (fault !== undefined) return yield* fault
    })

    /**
     * `Invalid`: its webhook or team does not exist. No other change of a rule that asks for `faultBeside` comes between its
     * answer and this one.
     */
    const createRule = Effect.fn("AlertStore.createRule")(
      function* (rule: AlertRule, audit?: AuditDraft, faultBeside?: RuleFaultBeside) {
        if (faultBeside !== undefined) yield* check(faultBeside)
        const { team, webhook_id } = rule
        const [found] = yield* sql<{ readonly hasWebhook: boolean; readonly hasTeam: boolean }>`
          select
            ${webhook_id === undefined} or exists (
              select from webhook_trigger.webhooks where id = ${webhook_id ?? null}::uuid for key share
            ) as "hasWebhook",
            ${team === undefined} or exists (
              select from webhook_trigger.teams where team = ${team ?? null}::text for key share
            ) as "hasTeam"`
        if (!found!.hasWebhook)
          return yield* new Invalid({ faults: [{ pointer: "/webhook_id", detail: "does not exist" }] })
        if (!found!.hasTeam) return yield* new Invalid({ faults: [{ pointer: "/team", detail: "does not exist" }] })
        yield* sql`
          with created as (
            insert into webhook_trigger.alert_rules ${sql.insert(toColumns(rule))} returning *
          ), ${audited(sql, audit, sql`select id::text as object, null as before, ${shown("created")} as after from created`)}
          select id from created`
        return rule
      },
      sql.withTransaction,
      bounded
    )

    /** All, oldest first. */
    const rules = bounded(sql`select * from webhook_trigger.alert_rules order by created_at, id`).pipe(
      Effect.map((rows) => rows.map(ruleFromRow)),
      Effect.withSpan("AlertStore.rules")
    )

    const rule = Effect.fn("AlertStore.rule")(function* (id: AlertRuleId) {
      const [row] = yield* sql`select * from webhook_trigger.alert_rules where id = ${id}`
      return row ? ruleFromRow(row) : yield* new NotFound()
    }, bounded)

    const update = Effect.fnUntraced(function* (id: AlertRuleId, change: AlertRuleChange, audit?: AuditDraft) {
      const [row] = yield* sql`
        with before as materialized (
          select * from webhook_trigger.alert_rules where id = ${id} for update
        ), changed as (
          update webhook_trigger.alert_rules r set ${sql.update(toColumns(change))} from before where r.id = before.id
          returning r.*
        ), over as (
          update webhook_trigger.alerts a set state = 'resolved', resolved_at = ${DateTime.toDateUtc(change.updated_at)}
          where ${change.enabled === false} and a.rule_id = ${id} and a.state <> 'resolved'
        ), ${audited(
          sql,
          audit,
          sql`select b.id::text as object, ${shown("b")} as before, ${shown("c")} as after from before b, changed c`
        )}
        select * from changed`
      return row ? ruleFromRow(row) : yield* new NotFound()
    })

    /** Switched off, its alerts are over, without a message. `faultBeside`: as above. */
    const updateRule = Effect.fn("AlertStore.updateRule")(function* (
      id: AlertRuleId,
      change: AlertRuleChange,
      audit?: AuditDraft,
      faultBeside?: RuleFaultBeside
    ) {
      const updated = update(id, change, audit)
      if (faultBeside === undefined) return yield* updated
      return yield* sql.withTransaction(Effect.andThen(check(faultBeside, id), updated))
    }, bounded)

    /** Deletes its alerts and their deliveries, too. */
    const deleteRule = Effect.fn("AlertStore.deleteRule")(function* (id: AlertRuleId, audit?: AuditDraft) {
      const rows = yield* sql`
        with deleted as (
          delete from webhook_trigger.alert_rules where id = ${id} returning *
        ), ${audited(sql, audit, sql`select id::text as object, ${shown("deleted")} as before, null as after from deleted`)}
        select id from deleted`
      if (rows.length === 0) return yield* new NotFound()
    }, bounded)

    /** Newest first. */
    const alerts = Effect.fn("AlertStore.alerts")(function* ({ limit, owners, state, webhook_id }: AlertQuery) {
      const conditions: Array<Statement.Fragment> = [
        state === undefined ? sql`state <> 'pending'` : sql`state = ${state}`
      ]
      if (webhook_id !== undefined) conditions.push(sql`webhook_id = ${webhook_id}`)
      if (owners !== undefined) {
        // An alert that has not ended moves with its webhook, perhaps to a newer team.
        conditions.push(
          isTeamOf(sql, "a.team", owners),
          sql`(a.resolved_at is null or ${isOfCurrentTeam(sql, "a", "since")})`
        )
      }
      const rows = yield* sql`
        select * from webhook_trigger.alerts a where ${sql.and(conditions)} order by since desc, id desc limit ${limit}`
      return rows.map((row) => fromRow<Alert>(row, Object.keys(Alert.fields)))
    }, bounded)

    /** Whether there is anything to measure: a rule that is switched on, a webhook that may pause or is paused, or an open alert. */
    const isNeeded = bounded(
      sql<{ readonly needed: boolean }>`
        select exists (select from webhook_trigger.alert_rules where enabled)
          or exists (select from webhook_trigger.webhooks where pause_after_failures is not null)
          or exists (select from webhook_trigger.webhooks where paused_at is not null)
          or exists (select from webhook_trigger.alerts where state <> 'resolved') as needed`
    ).pipe(
      Effect.map(([row]) => row!.needed),
      Effect.withSpan("AlertStore.isNeeded")
    )

    /** Whether this server measures now: no other has begun to within `interval`. */
    const beginMeasuring = Effect.fn("AlertStore.beginMeasuring")(function* (
      now: DateTime.Utc,
      interval: Duration.Duration
    ) {
      const at = DateTime.toDateUtc(now)
      const rows = yield* sql`
        update webhook_trigger.alert_state set measured_at = ${at}
        where measured_at <= ${at}::timestamptz - ${Duration.toMillis(interval)} * interval '1 millisecond' returning 1`
      return rows.length > 0
    }, bounded)

    /**
     * Begins and ends alerts, and writes the deliveries of messages to the alert destinations of each rule, in one commit.
     * Deletes alerts that were over before `keptSince`.
     */
    const recordMeasurement = Effect.fn("AlertStore.recordMeasurement")(
      function* (measurement: Measurement, keptSince: DateTime.Utc) {
        const { now, quiet } = measurement
        yield* sql`select from webhook_trigger.alert_state for update`
        const open = yield* sql`select * from webhook_trigger.alerts where state <> 'resolved'`
        const notified = yield* sql<Pick<StoredAlert, "rule_id" | "subject"> & { readonly at: Date }>`
          select rule_id, subject, max(notified_at) as at from webhook_trigger.alerts
          where notified_at > ${DateTime.toDateUtc(DateTime.subtractDuration(now, quiet))} group by 1, 2`
        const { events, put, remove } = changesOf(
          open.map((row) => fromRow<StoredAlert>(row)),
          new Map(notified.map((row) => [keyOf(row), DateTime.fromDateUnsafe(row.at)])),
          measurement
        )
        yield* sql`
          delete from webhook_trigger.alerts
          where resolved_at < ${DateTime.toDateUtc(keptSince)} or id = any(${uuids(sql, remove)})`
        if (put.length === 0) return
        // If a rule was deleted or switched off in the meantime, none of its alerts begin.
        yield* sql`
          insert into webhook_trigger.alerts (${list(alertColumns)})
          select ${list(alertColumns.map((name) => `i.${name}`))} from ${recordset(sql, alertTypes, put)}
          left join webhook_trigger.alert_rules r on r.id = i.rule_id where i.rule_id is null or r.enabled
          on conflict (id) do update set state = excluded.state, name = excluded.name,
            team = excluded.team, value = excluded.value, resolved_at = excluded.resolved_at,
            notified_at = excluded.notified_at`
        if (events.length === 0) return
        const sent = events.map(({ alert, event }) => ({ alert_id: alert.id, event }))
        yield* sql`
          with due as (
            insert into webhook_trigger.deliveries (destination_id, alert_id, event, created_at, next_attempt_at)
            select d.id, a.id, i.event, ${DateTime.toDateUtc(now)}, ${DateTime.toDateUtc(now)}
            from ${recordset(sql, { alert_id: "uuid", event: "text" }, sent)}
              join webhook_trigger.alerts a on a.id = i.alert_id
              left join webhook_trigger.alert_rules r on r.id = a.rule_id
              join webhook_trigger.destinations d on d.webhook_id is null and d.enabled
                and i.event in (select json_array_elements_text(d.events))
                and (r.destination_ids is null or d.id::text in (select json_array_elements_text(r.destination_ids)))
            returning 1
          ), ${notify(sql, "DeliveryDue", sql`select '' as name from due limit 1`)}
          select (select count(*) from notified) from due limit 1`
      },
      sql.withTransaction,
      bounded
    )

    return {
      createRule,
      rules,
      rule,
      updateRule,
      deleteRule,
      alerts,
      isNeeded,
      beginMeasuring,
      recordMeasurement,
      ...measured
    }
  })
}) {
  static readonly layer = Layer.effect(AlertStore, AlertStore.make)
}
