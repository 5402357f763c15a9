import { type FormEvent, useState } from "react"
import { type AlertCondition, alertConditionNames, conditionOf } from "../../../domain/alert/AlertCondition.ts"
import { api } from "../../api/Client.ts"
import { explain, faultAt } from "../../api/Errors.ts"
import { runAction, useTeams } from "../../api/Queries.ts"
import type { AlertRule, Destination, Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { Dialog } from "../../components/Dialog.tsx"
import { SearchableSelect } from "../../components/form/SearchableSelect.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { Notice } from "../../components/Notice.tsx"

const conditions = alertConditionNames.map((name) => [name, conditionOf(name).label] as const)

/** Adds a rule, or edits one. Its condition and scope cannot be changed. */
export const RuleForm = ({
  rule,
  webhooks,
  destinations,
  onClose,
  onSaved
}: {
  readonly rule?: AlertRule
  readonly webhooks: ReadonlyArray<Webhook>
  readonly destinations: ReadonlyArray<Destination>
  readonly onClose: () => void
  readonly onSaved: () => void
}) => {
  const teams = useTeams()
  const [condition, setCondition] = useState<AlertCondition>(rule?.condition ?? "failures_in_a_row")
  const { help, hours, of, threshold: limits } = conditionOf(condition)
  const [scope, setScope] = useState("")
  const [threshold, setThreshold] = useState<string | undefined>(rule && String(rule.threshold))
  const [period, setPeriod] = useState<string | undefined>(rule?.window_hours?.toString())
  const [chosen, setChosen] = useState<ReadonlyArray<string> | undefined>(rule?.destination_ids)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const scopes: ReadonlyArray<readonly [string, string]> = [
    ["", of === "team" ? "All teams" : "All webhooks"],
    ...(teams.data ?? []).map(({ team }) => [`team ${team}`, `Team ${team}`] as const),
    ...(of === "team" ? [] : webhooks.map(({ id, name }) => [`webhook ${id}`, name] as const))
  ]
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (pending) return
    setPending(true)
    setError(undefined)
    const [kind, id] = scope.split(" ")
    const common = {
      threshold: Number(threshold ?? limits.default),
      ...(hours !== undefined && { window_hours: Number(period ?? hours) })
    }
    try {
      await runAction(() =>
        rule === undefined
          ? api.alerts.createRule({
              payload: {
                condition,
                ...common,
                ...(kind === "webhook" && { webhook_id: id }),
                ...(kind === "team" && { team: id }),
                ...(chosen !== undefined && { destination_ids: chosen })
              } as never
            })
          : api.alerts.editRule({
              path: { rule_id: rule.id },
              payload: { ...common, destination_ids: chosen ?? null } as never
            })
      )
      onSaved()
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  return (
    <Dialog title={rule === undefined ? "Add a rule" : "Edit the rule"} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {rule === undefined && (
          <>
            <SelectField
              label="Condition"
              value={condition}
              onChange={(name) => {
                setCondition(name)
                setThreshold(undefined)
                setPeriod(undefined)
                setScope("")
              }}
              options={conditions}
              help={help}
            />
            <SearchableSelect label="For" value={scope} onChange={setScope} options={scopes} />
          </>
        )}
        <TextField
          label={`Threshold (${limits.unit})`}
          value={threshold ?? String(limits.default)}
          onChange={setThreshold}
          inputMode="decimal"
          fault={faultAt(error, "/threshold")}
          required
        />
        {hours !== undefined && (
          <TextField
            label="Time window (hours)"
            value={period ?? String(hours)}
            onChange={setPeriod}
            inputMode="numeric"
            help="The current hour counts in addition."
            fault={faultAt(error, "/window_hours")}
            required
          />
        )}
        {destinations.length > 0 && (
          <fieldset className="stack tight">
            <legend className="label">Send to</legend>
            {destinations.map(({ id, url }) => (
              <label key={id} className="row">
                <input
                  type="checkbox"
                  checked={chosen?.includes(id) ?? true}
                  onChange={({ target }) => {
                    const before = chosen ?? destinations.map((one) => one.id)
                    const after = target.checked ? [...before, id] : before.filter((one) => one !== id)
                    setChosen(after.length === destinations.length ? undefined : after)
                  }}
                />
                <span className="mono">{url}</span>
              </label>
            ))}
          </fieldset>
        )}
        {error !== undefined && <Notice tone="danger">{explain(error).title}</Notice>}
        <div className="row end">
          <Button onPress={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={pending}>
            {rule === undefined ? "Add rule" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
