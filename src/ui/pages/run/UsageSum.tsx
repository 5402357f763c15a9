import type { AllRunsFilter } from "../../api/Changes.ts"
import { useUsage } from "../../api/Queries.ts"
import { dateTime } from "../../components/form/DateField.tsx"
import { formatDollars, formatNumber, plural } from "../../format/Format.ts"

/** What all runs with this filter used, if any of them reported it. */
export const UsageSum = ({ filter: { cursor: _, ...filter } }: { readonly filter: AllRunsFilter }) => {
  const { data } = useUsage(filter)
  if (data === undefined || data.reported === 0) return null
  const { cost_usd, input_tokens, output_tokens, reported, runs, searched_back_to } = data
  const amounts = [
    cost_usd === undefined ? [] : [formatDollars(cost_usd)],
    input_tokens === undefined ? [] : [plural(input_tokens, "input token")],
    output_tokens === undefined ? [] : [plural(output_tokens, "output token")]
  ].flat()
  return (
    <p className="small muted" role="group" aria-label="Usage">
      {amounts.join(", ")}, reported by {formatNumber(reported)} of {plural(runs, "run")}
      {searched_back_to !== undefined && ` since ${dateTime.format(new Date(searched_back_to))}`}
    </p>
  )
}
