import { allStatuses } from "../../domain/RunStatus.ts"
import { useRuns } from "../api/Queries.ts"
import type { Webhook } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { Loaded } from "../components/Loaded.tsx"
import { RunList } from "../components/RunList.tsx"
import { SelectField } from "../components/SelectField.tsx"
import { statusDisplays } from "../components/Status.tsx"
import { useUrlFilters } from "../frame/UrlFilters.ts"

/** The start of a day in the user's time zone, plus `days`, as RFC 3339. */
const startOfDay = (date: string, days = 0): string | undefined => {
  const [year, month, day] = date.split("-").map(Number)
  if (!year || !month || !day) return undefined
  return new Date(year, month - 1, day + days).toISOString()
}

const DateField = ({
  label,
  value,
  onChange
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}) => (
  <label className="field">
    <span className="label">{label}</span>
    <input type="date" className="input" value={value} onChange={(event) => onChange(event.target.value)} />
  </label>
)

/** A webhook's runs, newest first, one page at a time. Its filters and its page are in the address. */
export const RunHistory = ({ webhook }: { readonly webhook: Webhook }) => {
  const filters = useUrlFilters()
  const status = allStatuses.find((each) => each === filters.get("status"))
  const [from, to] = [startOfDay(filters.get("from")), startOfDay(filters.get("to"), 1)]
  const cursor = filters.get("cursor")
  const runs = useRuns(webhook.id, {
    ...(status ? { status } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to } : {}),
    ...(cursor ? { cursor } : {})
  })
  const filtered = status !== undefined || from !== undefined || to !== undefined
  const setFilters = (values: Record<string, string>) => filters.set({ ...values, cursor: "" })
  return (
    <section className="card stack" aria-label="Run history">
      <h2>Run history</h2>
      <div className="filters dates">
        <SelectField
          label="Status"
          value={status ?? ""}
          onChange={(value) => setFilters({ status: value })}
          options={[["", "All statuses"], ...allStatuses.map((each) => [each, statusDisplays[each].label] as const)]}
        />
        <DateField label="From" value={filters.get("from")} onChange={(value) => setFilters({ from: value })} />
        <DateField label="To" value={filters.get("to")} onChange={(value) => setFilters({ to: value })} />
        {filtered && (
          <Button variant="quiet" onPress={() => setFilters({ status: "", from: "", to: "" })}>
            Show all
          </Button>
        )}
      </div>
      <Loaded query={runs}>
        {({ data, next_cursor }) => (
          <div className={runs.isPlaceholderData ? "stack stale" : "stack"} aria-busy={runs.isPlaceholderData}>
            {data.length === 0 ? (
              <div className="empty">
                <p>{filtered || cursor ? "No runs match." : "No runs yet. Send a test above, or call the webhook."}</p>
              </div>
            ) : (
              <RunList runs={data} label="Runs, newest first" />
            )}
            {(cursor !== "" || next_cursor !== null) && (
              <nav className="row between" aria-label="Pages of the run history">
                <Button icon="back" disabled={cursor === ""} onPress={() => filters.set({ cursor: "" })}>
                  Newest
                </Button>
                <Button disabled={next_cursor === null} onPress={() => filters.set({ cursor: next_cursor ?? "" })}>
                  Older
                </Button>
              </nav>
            )}
          </div>
        )}
      </Loaded>
    </section>
  )
}
