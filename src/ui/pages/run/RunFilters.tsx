import { type RefObject, useEffect, useMemo, useRef, useState } from "react"
import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { allStatuses, type RunStatus } from "../../../domain/run/RunStatus.ts"
import { teamNamePattern } from "../../../domain/TeamName.ts"
import type { AllRunsFilter } from "../../api/Changes.ts"
import { useTeams, useThread, useWebhooks } from "../../api/Queries.ts"
import { Button } from "../../components/Button.tsx"
import { boundOf, DateField, dateTime, dayOf } from "../../components/form/DateField.tsx"
import { SearchableSelect } from "../../components/form/SearchableSelect.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { TextField } from "../../components/form/TextField.tsx"
import { statusDisplays } from "../../components/run/Status.tsx"
import { threadName } from "../../components/run/ThreadName.ts"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { useUrlFilters } from "../../frame/UrlFilters.ts"

/** The names of the filters in the address. */
const names = [
  ...(["search", "status", "webhook", "team", "thread", "period"] as const),
  ...(["source", "mode", "from", "to", "min", "max"] as const)
] as const
type Name = (typeof names)[number]

/** The filters under “More filters”. */
const rarer = ["source", "mode", "from", "to", "min", "max"] as const satisfies ReadonlyArray<Name>

const none = Object.fromEntries(names.map((name) => [name, ""])) as Record<Name, string>

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether the text can be the id of a run. */
const isRunId = (text: string): boolean => uuid.test(text.trim())

const groups = [
  ["", "All statuses"],
  ["error,timeout", "Failed: error or timeout"],
  ["queued,running", "Unfinished"],
  ["asks", "Asks: waiting for a reply or approval"]
] as const

/** Accepted in the last so many hours, as in the address. */
const periods = [
  ["", "Any time"],
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"]
] as const

const minuteMs = 60_000
const hoursOf: ReadonlyMap<string, number> = new Map([
  ["1h", 1],
  ["24h", 24],
  ["7d", 7 * 24],
  ["30d", 30 * 24]
])

/** When the period began, to the minute; it stays while the page is open, so that its lists do too. */
const usePeriodStart = (period: string): string | undefined =>
  useMemo(() => {
    const hours = hoursOf.get(period)
    if (hours === undefined) return undefined
    return new Date((Math.floor(Date.now() / minuteMs) - hours * 60) * minuteMs).toISOString()
  }, [period])

const isStatus = (text: string): text is RunStatus => (allStatuses as ReadonlyArray<string>).includes(text)

const millisOf = (seconds: string): number | undefined =>
  /^\d+([.,]\d+)?$/.test(seconds) ? Math.round(Number(seconds.replace(",", ".")) * 1000) : undefined

/** The filter with these values. Invalid ones are ignored. */
export const useFilterOf = (get: (name: Name | "cursor") => string): AllRunsFilter => {
  const [first, ...others] = get("status").split(",").filter(isStatus)
  const team = get("team")
  const source = get("source")
  const mode = get("mode")
  const search = get("search").trim()
  const start = usePeriodStart(get("period"))
  const [from, to] = [start ?? boundOf(get("from")), boundOf(get("to"), 1)]
  const [min, max] = [millisOf(get("min")), millisOf(get("max"))]
  return {
    ...(get("status") === "asks" && { asks: "true" as const }),
    ...(first && { status: [first, ...others] }),
    ...(isRunId(get("webhook")) && { webhook_id: get("webhook") }),
    ...(isRunId(get("thread")) && { thread_id: get("thread") }),
    ...(teamNamePattern.test(team) && { team }),
    ...((source === "webhook" || source === "chat") && { source }),
    ...((mode === "wait" || mode === "async") && { mode }),
    ...(from && { from }),
    ...(to && { to }),
    ...(min !== undefined && { min_duration_ms: min }),
    ...(max !== undefined && { max_duration_ms: max }),
    ...(search && { search }),
    ...(get("cursor") && { cursor: get("cursor") })
  }
}

/** The filter in the address. */
export const useRunFilter = () => {
  const filters = useUrlFilters()
  const filter = useFilterOf(filters.get)
  return { filter, set: filters.set, filtered: names.some((name) => filters.get(name) !== "") }
}

/** The search starts after this pause in typing, in milliseconds. */
const pause = 300

/** Each selected filter adds a history entry; typing does not. */
export const RunFilters = ({ ref }: { readonly ref: RefObject<HTMLElement | null> }) => {
  const filters = useUrlFilters()
  const webhooks = useWebhooks()
  const teams = useTeams()
  const [open, setOpen] = useState(() => rarer.some((name) => filters.get(name) !== ""))
  const set = (values: Partial<Record<Name, string>>) => filters.set({ ...values, cursor: "" })
  // A run id clears the other filters.
  const search = (text: string) =>
    filters.set({ ...(isRunId(text) && none), search: text, cursor: "" }, { replace: true })
  const statuses = [...groups, ...allStatuses.map((each) => [each, statusDisplays[each].label] as const)]
  const status = statuses.find(([value]) => value === filters.get("status"))?.[0] ?? ""
  const [from, to] = [filters.get("from"), filters.get("to")]
  const exact = from.includes("T") ? boundOf(from) : undefined
  return (
    <search className="stack tight" ref={ref}>
      <div className="filters runs-filters">
        <SearchField value={filters.get("search")} onSearch={search} />
        <SelectField
          label="Status"
          hideLabel
          value={status}
          onChange={(value) => set({ status: value })}
          options={statuses}
        />
        <SearchableSelect
          label="Webhook"
          hideLabel
          value={filters.get("webhook")}
          onChange={(value) => set({ webhook: value })}
          options={[
            ["", "All webhooks"],
            ...(webhooks.data ?? []).map(({ id, name }) => [id, showDirectionMarks(name)] as const)
          ]}
        />
        <SelectField
          label="Team"
          hideLabel
          value={filters.get("team")}
          onChange={(value) => set({ team: value })}
          options={[["", "All teams"], ...(teams.data ?? []).map(({ team }) => [team, team] as const)]}
        />
        <SelectField
          label="Time"
          hideLabel
          value={periods.find(([value]) => value === filters.get("period"))?.[0] ?? ""}
          onChange={(value) => set({ period: value, from: "", to: "" })}
          options={periods}
        />
      </div>
      <div className="row">
        <button type="button" className="button quiet compact" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Fewer filters" : "More filters"}
        </button>
        {names.some((name) => filters.get(name) !== "") && (
          <Button variant="quiet" compact onPress={() => set(none)}>
            Show all
          </Button>
        )}
      </div>
      {open && (
        <div className="filters more-filters">
          <SelectField
            label="Source"
            value={filters.get("source")}
            onChange={(value) => set({ source: value })}
            options={[
              ["", "All sources"],
              ["webhook", "Webhooks"],
              ["chat", "Chat messages"]
            ]}
          />
          <SelectField
            label="Mode"
            value={filters.get("mode")}
            onChange={(value) => set({ mode: value })}
            options={[
              ["", "All modes"],
              ["wait", "Synchronous"],
              ["async", "Asynchronous"]
            ]}
          />
          <DateField label="From" value={dayOf(from)} onChange={(value) => set({ from: value, period: "" })} />
          <DateField label="To" value={dayOf(to)} onChange={(value) => set({ to: value, period: "" })} />
          <TextField
            label="Minimum duration (s)"
            inputMode="numeric"
            value={filters.get("min")}
            onChange={(value) => set({ min: value })}
          />
          <TextField
            label="Maximum duration (s)"
            inputMode="numeric"
            value={filters.get("max")}
            onChange={(value) => set({ max: value })}
          />
        </div>
      )}
      {isRunId(filters.get("thread")) && (
        <ThreadFilter id={filters.get("thread")} onRemove={() => set({ thread: "" })} />
      )}
      {exact !== undefined && <p className="small">Accepted from {dateTime.format(new Date(exact))}</p>}
    </search>
  )
}

/** The thread whose runs are shown. It is chosen on the thread's page. */
const ThreadFilter = ({ id, onRemove }: { readonly id: string; readonly onRemove: () => void }) => {
  const { data } = useThread(id)
  return (
    <p className="row small">
      <span>
        Conversation{" "}
        <Link to={pathTo("thread", { thread_id: id })}>
          <bdi>{data ? threadName(data) : id}</bdi>
        </Link>
      </span>
      <Button variant="quiet" compact onPress={onRemove}>
        Runs of all conversations
      </Button>
    </p>
  )
}

const SearchField = ({ value, onSearch }: { readonly value: string; readonly onSearch: (text: string) => void }) => {
  const [text, setText] = useState(value)
  const [known, setKnown] = useState(value)
  // The address changed, for example with the back button.
  if (known !== value) {
    setKnown(value)
    if (text.trim() !== value) setText(value)
  }
  const latest = useRef(onSearch)
  latest.current = onSearch
  useEffect(() => {
    if (text.trim() === value) return
    const timer = setTimeout(() => latest.current(text.trim()), pause)
    return () => clearTimeout(timer)
  }, [text, value])
  return (
    <TextField
      label="Search"
      hideLabel
      type="search"
      placeholder="Search values, prompts, answers or run ID"
      value={text}
      onChange={setText}
      maxLength={200}
      autoFocus={window.history.state?.find === true}
    />
  )
}
