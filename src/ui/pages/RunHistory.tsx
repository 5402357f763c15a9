import { allStatuses, isFinal } from "../../domain/RunStatus.ts"
import { useRuns } from "../api/Queries.ts"
import type { RunSummary, Webhook } from "../api/Types.ts"
import { Button } from "../components/Button.tsx"
import { plural } from "../components/Format.ts"
import { Loaded } from "../components/Loaded.tsx"
import { locale } from "../components/Locale.ts"
import { ReplayRuns } from "../components/ReplayRuns.tsx"
import { RunList } from "../components/RunList.tsx"
import { SelectField } from "../components/SelectField.tsx"
import { statusDisplays } from "../components/Status.tsx"
import { useUrlFilters } from "../frame/UrlFilters.ts"
import { useHeldRuns } from "./HeldRuns.ts"

/** The start of a day in the user's time zone, plus `days`, as RFC 3339. */
const startOfDay = (date: string, days = 0): string | undefined => {
  const [year, month, day] = date.split("-").map(Number)
  if (!year || !month || !day) return undefined
  return new Date(year, month - 1, day + days).toISOString()
}

const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" })

/** A bound in the address: a day, or an exact time, as the bars of the chart set it. */
const boundOf = (text: string, days = 0): string | undefined => {
  if (!text.includes("T")) return startOfDay(text, days)
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** What a date field shows of it. */
const dayOf = (text: string): string => (text.includes("T") ? "" : text)

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
  const [from, to] = [boundOf(filters.get("from")), boundOf(filters.get("to"), 1)]
  const cursor = filters.get("cursor")
  const runs = useRuns(webhook.id, {
    ...(status ? { status } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to } : {}),
    ...(cursor ? { cursor } : {})
  })
  const filtered = status !== undefined || from !== undefined || to !== undefined
  const exact = filters.get("from").includes("T") && from !== undefined
  const setFilters = (values: Record<string, string>) => filters.set({ ...values, cursor: "" })
  return (
    <section className="card stack" aria-label="Run history">
      <h2 className="sr-only">Runs</h2>
      <div className="filters dates">
        <SelectField
          label="Status"
          value={status ?? ""}
          onChange={(value) => setFilters({ status: value })}
          options={[["", "All statuses"], ...allStatuses.map((each) => [each, statusDisplays[each].label] as const)]}
        />
        <DateField label="From" value={dayOf(filters.get("from"))} onChange={(value) => setFilters({ from: value })} />
        <DateField label="To" value={dayOf(filters.get("to"))} onChange={(value) => setFilters({ to: value })} />
        {(status === undefined || isFinal(status)) && (
          <ReplayRuns
            which={{
              webhook_id: webhook.id,
              ...(status ? { status: [status] } : {}),
              ...(from ? { from } : {}),
              ...(to ? { to } : {})
            }}
          >
            {status === undefined || status === "error" || status === "timeout" ? "Replay failed" : "Replay these"}
          </ReplayRuns>
        )}
        {filtered && (
          <Button variant="quiet" onPress={() => setFilters({ status: "", from: "", to: "" })}>
            Show all
          </Button>
        )}
      </div>
      {exact && (
        <p className="small">
          Accepted from {dateTime.format(new Date(from))} {to ? `to ${dateTime.format(new Date(to))}` : "until now"}
        </p>
      )}
      <Loaded query={runs}>
        {({ data, next_cursor }) => (
          <div className={runs.isPlaceholderData ? "stack stale" : "stack"} aria-busy={runs.isPlaceholderData}>
            {data.length === 0 ? (
              <div className="empty">
                <p>{filtered || cursor ? "No runs match." : "No runs yet. Send a test, or call the webhook."}</p>
              </div>
            ) : (
              <Rows key={`${status} ${from} ${to} ${cursor}`} runs={data} />
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

/** Rows that do not move under the pointer: what is new meanwhile is announced above them. */
const Rows = ({ runs }: { readonly runs: ReadonlyArray<RunSummary> }) => {
  const { shown, fresh, hold, release } = useHeldRuns(runs)
  return (
    <div
      className="stack tight"
      role="group"
      aria-label="History"
      onPointerEnter={hold}
      onPointerLeave={release}
      onFocus={hold}
      onBlur={({ currentTarget, relatedTarget }) => !currentTarget.contains(relatedTarget) && release()}
    >
      <div role="status" className="new-runs">
        {fresh > 0 && (
          <Button compact onPress={release}>
            {fresh === runs.length ? `${fresh} or more new runs` : plural(fresh, "new run")}
          </Button>
        )}
      </div>
      <RunList runs={shown} label="Runs, newest first" />
    </div>
  )
}
