import { countRated } from "../../../domain/run/RunStatus.ts"
import { api } from "../../api/Client.ts"
import { useStatistics } from "../../api/Queries.ts"
import type { StatisticsRange, Webhook } from "../../api/Types.ts"
import { SelectField } from "../../components/form/SelectField.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { CancelQueued } from "../../components/run/CancelQueued.tsx"
import { successRate, sumCounts } from "../../components/run/Counts.ts"
import { formatDollars, formatNumber } from "../../format/Format.ts"
import { useUrlFilters } from "../../frame/UrlFilters.ts"
import { Charts } from "./chart/Charts.tsx"

const rangeTexts: Record<StatisticsRange, string> = {
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days"
}
const ranges = Object.entries(rangeTexts) as ReadonlyArray<[StatisticsRange, string]>
const defaultRange = "24h"

/** A webhook's current load, and its runs in the time range in the address. */
export const WebhookActivity = ({ webhook }: { readonly webhook: Webhook }) => {
  const filters = useUrlFilters()
  const range = ranges.find(([value]) => value === filters.get("range"))?.[0] ?? defaultRange
  const statistics = useStatistics(webhook.id, range)
  return (
    <section className="card stack" aria-label="Activity">
      <h2 className="sr-only">Activity</h2>
      <Loaded query={statistics}>
        {(data) => (
          <>
            <div className="row between">
              <dl className="facts tight grow">
                <div>
                  <dt>Slots in use</dt>
                  <dd className="big">
                    {data.slots_in_use} <span className="muted">of {data.limit}</span>
                  </dd>
                </div>
                <div>
                  <dt>Queued</dt>
                  <dd className="row">
                    <span className="big">{data.queued}</span>
                    <CancelQueued
                      mayWait={data.queued > 0 || webhook.retries !== undefined}
                      of="of this webhook"
                      cancel={(query) => api.webhooks.cancelQueued({ path: webhook, query })}
                    />
                  </dd>
                </div>
                {data.budget && webhook.max_runs_per_day !== undefined && (
                  <div>
                    <dt>Runs today</dt>
                    <dd className="big">
                      {formatNumber(data.budget.runs)}{" "}
                      <span className="muted">of {formatNumber(webhook.max_runs_per_day)}</span>
                    </dd>
                  </div>
                )}
                {data.budget && webhook.max_cost_per_day !== undefined && (
                  <div>
                    <dt>Cost today</dt>
                    <dd className="big">
                      {formatDollars(data.budget.cost_usd)}{" "}
                      <span className="muted">of {formatDollars(webhook.max_cost_per_day)}</span>
                    </dd>
                    {data.budget.unknown_cost_usd === 0 && (
                      <dd className="muted small">
                        Runs whose agent reports no cost count as $0 (<code>WEBHOOK_UNKNOWN_COST</code>).
                      </dd>
                    )}
                  </div>
                )}
                <div>
                  <dt>Success rate</dt>
                  <dd className="big">
                    {successRate(sumCounts(data.buckets)) ?? "–"}{" "}
                    <span className="muted">of {formatNumber(countRated(sumCounts(data.buckets)))}</span>
                  </dd>
                </div>
              </dl>
              <SelectField
                label="Time range"
                hideLabel
                value={range}
                onChange={(value) => filters.set({ range: value === defaultRange ? "" : value }, { replace: true })}
                options={ranges}
              />
            </div>
            <Charts statistics={data} onPick={(from, to) => filters.set({ from, to: to ?? "", cursor: "" })} />
          </>
        )}
      </Loaded>
    </section>
  )
}
