import { Context, DateTime, Effect, Layer, Result } from "effect"
import type { Alert } from "../../domain/alert/Alert.ts"
import { type AlertCondition, conditionOf } from "../../domain/alert/AlertCondition.ts"
import {
  type AlertRule,
  AlertRuleDraft,
  AlertRuleEdit,
  faultsOfRule,
  isSameRule,
  maxRules
} from "../../domain/alert/AlertRule.ts"
import { type Fault, Invalid, type NotFound, type Unavailable } from "../../domain/Errors.ts"
import { makeAlertRuleId } from "../../domain/Id.ts"
import { alertRuleIdOf } from "../../domain/ParsedId.ts"
import { decode } from "../../domain/Validation.ts"
import { type AlertQuery, AlertStore, type RuleFaultBeside } from "../../repo/alert/AlertStore.ts"
import { DestinationStore } from "../../repo/delivery/DestinationStore.ts"
import * as Audit from "../access/Audit.ts"

/** Managing the rules of alerts, and reading the alerts. Text that cannot be an id is `NotFound`. */
export class Alerts extends Context.Service<
  Alerts,
  {
    /** Newest first. */
    readonly alerts: (query: AlertQuery) => Effect.Effect<ReadonlyArray<Alert>, Unavailable>
    readonly rules: Effect.Effect<ReadonlyArray<AlertRule>, Unavailable>
    /** From an unchecked draft. Lists every fault. */
    readonly createRule: (draft: unknown) => Effect.Effect<AlertRule, Invalid | Unavailable>
    readonly editRule: (id: string, edit: unknown) => Effect.Effect<AlertRule, Invalid | NotFound | Unavailable>
    readonly removeRule: (id: string) => Effect.Effect<void, NotFound | Unavailable>
  }
>()("webhook-trigger/Alerts") {
  static readonly layer: Layer.Layer<Alerts, never, AlertStore | DestinationStore> = Layer.effect(
    Alerts,
    Effect.gen(function* () {
      const store = yield* AlertStore
      const destinations = yield* DestinationStore

      const checked = <A extends Checked>(
        decoded: Result.Result<A, ReadonlyArray<Fault>>,
        condition: (value: A) => AlertCondition
      ) =>
        Effect.gen(function* () {
          if (Result.isFailure(decoded)) return yield* new Invalid({ faults: decoded.failure })
          const known = new Set<string>((yield* destinations.destinations(null)).map(({ id }) => id))
          const faults = faultsOf(condition(decoded.success), decoded.success, known)
          return faults.length > 0 ? yield* new Invalid({ faults }) : decoded.success
        })

      const createRule = Effect.fn("Alerts.createRule")(function* (input: unknown) {
        const draft = yield* checked(decodeDraft(input), ({ condition }) => condition)
        const { hours, threshold } = conditionOf(draft.condition)
        const now = yield* DateTime.now
        const { enabled = true, window_hours = hours } = draft
        const rule = {
          ...draft,
          id: yield* makeAlertRuleId,
          threshold: draft.threshold ?? threshold.default,
          ...(window_hours !== undefined && { window_hours }),
          enabled,
          created_at: now,
          updated_at: now
        }
        const faultBeside: RuleFaultBeside = (others) => (others.length >= maxRules ? tooMany : sameAsOne(rule)(others))
        return yield* store.createRule(rule, yield* Audit.draft("alert_rule.created"), faultBeside)
      })

      const editRule = Effect.fn("Alerts.editRule")(function* (text: string, input: unknown) {
        const rule = yield* Effect.flatMap(alertRuleIdOf(text), store.rule)
        const edit = yield* checked(decodeEdit(input), () => rule.condition)
        const updated_at = yield* DateTime.now
        const { destination_ids: ids = rule.destination_ids ?? null, ...fields } = edit
        const { destination_ids: _, ...rest } = rule
        const after = { ...rest, ...fields, ...(ids !== null && { destination_ids: ids }) }
        const audit = yield* Audit.draft("alert_rule.edited")
        return yield* store.updateRule(rule.id, { ...edit, updated_at }, audit, sameAsOne(after))
      })

      const removeRule = Effect.fn("Alerts.removeRule")(function* (text: string) {
        const id = yield* alertRuleIdOf(text)
        yield* store.deleteRule(id, yield* Audit.draft("alert_rule.deleted"))
      })

      return Alerts.of({ alerts: store.alerts, rules: store.rules, createRule, editRule, removeRule })
    })
  )
}

const decodeDraft = decode(AlertRuleDraft)
const decodeEdit = decode(AlertRuleEdit)

/** The fields that are checked beyond their types. */
type Checked = Pick<AlertRuleDraft, "team" | "threshold" | "webhook_id" | "window_hours"> &
  Pick<AlertRuleEdit, "destination_ids">

const faultsOf = (condition: AlertCondition, rule: Checked, known: ReadonlySet<string>): ReadonlyArray<Fault> => {
  const unknown = rule.destination_ids?.findIndex((id) => !known.has(id)) ?? -1
  return [
    ...faultsOfRule(condition, rule).map(({ detail, field }) => ({ pointer: `/${field}`, detail })),
    ...(unknown >= 0 ? [{ pointer: `/destination_ids/${unknown}`, detail: "is not an alert destination" }] : [])
  ]
}

const tooMany = new Invalid({ faults: [{ pointer: "", detail: `there may be at most ${maxRules} rules` }] })

const sameAsOne =
  (rule: AlertRule): RuleFaultBeside =>
  (others) => {
    const same = others.find((other) => isSameRule(rule, other))
    const detail = `is the same as the rule ${same?.id}`
    return same && new Invalid({ faults: [{ pointer: "", detail }] })
  }
