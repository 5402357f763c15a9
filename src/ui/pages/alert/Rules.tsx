import { useState } from "react"
import { conditionOf } from "../../../domain/alert/AlertCondition.ts"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction, useAlertRules, useDestinations, useWebhooks } from "../../api/Queries.ts"
import type { AlertRule, Destination, Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { Guide } from "../../components/Guide.tsx"
import { Icon } from "../../components/Icon.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { Notice } from "../../components/Notice.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { UserText } from "../../components/UserText.tsx"
import { formatNumber, plural } from "../../format/Format.ts"
import { RuleForm } from "./RuleForm.tsx"

const refresh = () =>
  Promise.all([
    queries.invalidateQueries({ queryKey: ["alert-rules"] }),
    queries.invalidateQueries({ queryKey: ["alerts"] })
  ])

/** The rules of alerts, with a form to add one. */
export const Rules = () => {
  const rules = useAlertRules()
  const webhooks = useWebhooks()
  const destinations = useDestinations(undefined)
  const [open, setOpen] = useState<"new" | AlertRule>()
  return (
    <section className="card stack" aria-label="Rules">
      <div className="row between">
        <h2>Rules</h2>
        <Button needs="alerts.createRule" compact icon="plus" onPress={() => setOpen("new")}>
          Add rule
        </Button>
      </div>
      <p className="muted small">
        Rules are measured every 15 seconds. There is one message when an alert begins and one when it is resolved. An
        alert that begins again within an hour sends no message at first.{" "}
        <Guide page="run/alerts.md">About alerts</Guide>
      </p>
      {rules.data?.some(({ enabled }) => enabled) && destinations.data?.data.length === 0 && (
        <Notice tone="warning">No alert destination exists, so alerts are shown here and sent to nobody.</Notice>
      )}
      <Loaded query={rules}>
        {(all) =>
          all.length === 0 ? (
            <p className="muted">No rules yet.</p>
          ) : (
            <ul className="refused-list" aria-label="Rules, oldest first">
              {all.map((rule) => (
                <Rule key={rule.id} rule={rule} webhooks={webhooks.data ?? []} onEdit={() => setOpen(rule)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {open !== undefined && (
        <RuleForm
          {...(open !== "new" && { rule: open })}
          webhooks={webhooks.data ?? []}
          destinations={destinations.data?.data ?? ([] as ReadonlyArray<Destination>)}
          onClose={() => setOpen(undefined)}
          onSaved={() => {
            setOpen(undefined)
            void refresh()
          }}
        />
      )}
    </section>
  )
}

const scopeOf = ({ condition, team, webhook_id }: AlertRule, webhooks: ReadonlyArray<Webhook>): string => {
  if (webhook_id !== undefined) return webhooks.find(({ id }) => id === webhook_id)?.name ?? "one webhook"
  if (team !== undefined) return `team ${team}`
  return conditionOf(condition).of === "team" ? "all teams" : "all webhooks"
}

const Rule = ({
  rule,
  webhooks,
  onEdit
}: {
  readonly rule: AlertRule
  readonly webhooks: ReadonlyArray<Webhook>
  readonly onEdit: () => void
}) => {
  const { condition, destination_ids, enabled, id, threshold, window_hours } = rule
  const [deleting, setDeleting] = useState(false)
  const { label, threshold: limits } = conditionOf(condition)
  const name = `${label} of ${scopeOf(rule, webhooks)}`
  const toggle = async () => {
    try {
      await runAction(() => api.alerts.editRule({ path: { rule_id: id }, payload: { enabled: !enabled } as never }))
      await refresh()
    } catch (error) {
      toastFailure(explain(error).title)
    }
  }
  const remove = async () => {
    await runAction(() => api.alerts.deleteRule({ path: { rule_id: id } }))
    setDeleting(false)
    await refresh()
    toast("Rule deleted")
  }
  return (
    <li className="refused stack tight">
      <div className="row between">
        <span className="grow">
          {label}, <UserText>{scopeOf(rule, webhooks)}</UserText>
        </span>
        <span className={`badge ${enabled ? "success" : "warning"}`}>
          <Icon name={enabled ? "check" : "pause"} />
          {enabled ? "On" : "Off"}
        </span>
      </div>
      <p className="small muted">
        Threshold: {formatNumber(threshold)} {limits.unit}
        {window_hours !== undefined && ` in ${plural(window_hours, "hour")}`}, sent to{" "}
        {destination_ids === undefined ? "all alert destinations" : plural(destination_ids.length, "destination")}
      </p>
      <div className="row">
        <Button needs="alerts.editRule" compact label={`Edit ${name}`} onPress={onEdit}>
          Edit
        </Button>
        <Button
          needs="alerts.editRule"
          compact
          label={`Switch ${enabled ? "off" : "on"} ${name}`}
          onPress={() => void toggle()}
        >
          {enabled ? "Switch off" : "Switch on"}
        </Button>
        <Button
          needs="alerts.deleteRule"
          compact
          variant="danger"
          label={`Delete ${name}`}
          onPress={() => setDeleting(true)}
        >
          Delete
        </Button>
      </div>
      {deleting && (
        <ConfirmDialog title="Delete this rule?" action="Delete" onConfirm={remove} onClose={() => setDeleting(false)}>
          <p>Its alerts are deleted, too.</p>
        </ConfirmDialog>
      )}
    </li>
  )
}
