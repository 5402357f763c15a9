import type { AllRunsFilter } from "../../api/Changes.ts"
import { useUsage } from "../../api/Queries.ts"
import { dateTime } from "../../components/form/DateField.tsx"
import { formatNumber, plural } from "../../format/Format.ts"
import { describeUsage } from "../../format/Usage.ts"

/** What all runs with this filter used, if any of them reported it. */
export const UsageSum = ({ filter: { cursor: _, ...filter } }: { readonly filter: AllRunsFilter }) => {
  const { data } = useUsage(filter)
  if (data === undefined || data.reported === 0) return null
  const { reported, runs, searched_back_to } = data
  return (
    <p className="small muted" role="group" aria-label="Usage">
      {describeUsage(data)}, reported by {formatNumber(reported)} of {plural(runs, "run")}
      {searched_back_to !== undefined && ` since ${dateTime.format(new Date(searched_back_to))}`}
    </p>
  )
}
