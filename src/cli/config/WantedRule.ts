/** An alert rule that a file asks for. */
import { Struct } from "effect"
import { conditionOf } from "../../domain/alert/AlertCondition.ts"
import { type AlertRuleDraft, faultsOfRule } from "../../domain/alert/AlertRule.ts"
import type { Fault } from "../../domain/Errors.ts"
import type { AlertRuleEntry } from "./ConfigFile.ts"
import type { Path, Source } from "./YamlFile.ts"

export interface WantedRule {
  /** As in the API, without the webhook and the destinations. */
  readonly fields: Omit<AlertRuleDraft, "destination_ids" | "webhook_id">
  /** With the defaults of its condition. */
  readonly shown: { readonly threshold: number; readonly window_hours: number | undefined }
  /** Its name or ID. */
  readonly webhook: string | undefined
  /** Descriptions or IDs. Absent: all. */
  readonly destinations: ReadonlyArray<string> | undefined
  readonly fault: (path: Path, detail: string) => Fault
}

export const rule = (entry: AlertRuleEntry, source: Source, path: Path) => {
  const { destinations, webhook } = entry
  const fields = Struct.omit(entry, ["destinations", "webhook"])
  const { hours, threshold } = conditionOf(fields.condition)
  const fault = (inner: Path, detail: string) => source.fault([...path, ...inner], detail)
  const wanted: WantedRule = {
    ...{ fields, webhook, fault },
    shown: { threshold: fields.threshold ?? threshold.default, window_hours: fields.window_hours ?? hours },
    destinations: destinations && [...new Set(destinations)]
  }
  const faults = faultsOfRule(fields.condition, { ...fields, ...(webhook !== undefined && { webhook_id: webhook }) })
  return {
    wanted,
    faults: faults.map(({ detail, field }) => fault([field === "webhook_id" ? "webhook" : field], detail))
  }
}
