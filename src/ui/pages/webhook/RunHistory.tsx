import { allStatuses, isFinal } from "../../../domain/run/RunStatus.ts"
import { useRuns } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { boundOf, DateField, dateTime, dayOf } from "../../components/form/DateField.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { PageButtons } from "../../components/PageButtons.tsx"
import { LiveRuns } from "../../components/run/LiveRuns.tsx"
import { NoRuns } from "../../components/run/NoRuns.tsx"
import { ReplayRuns } from "../../components/run/ReplayRuns.tsx"
import { RunList } from "../../components/run/RunList.tsx"
import { statusDisplays } from "../../components/run/Status.tsx"
import { useUrlFilters } from "../../frame/UrlFilters.ts"

/** A webhook's runs. The filters and the page are in the address. */
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
  const list = `?${new URLSearchParams([
    ["webhook", webhook.id],
    ...["status", "from", "to", "cursor"].flatMap((name) => {
      const value = filters.get(name)
      return value === "" ? [] : [[name, value]]
    })
  ])}`
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
        {({ data, next_cursor, searched_back_to }) => (
          <div className="stack" aria-busy={runs.isPlaceholderData}>
            {data.length === 0 ? (
              <NoRuns
                filtered={filtered || cursor !== ""}
                searchedBackTo={searched_back_to}
                none="No runs yet. Send a test, or call the webhook."
              />
            ) : (
              // Placeholders must not be held in place.
              <LiveRuns key={`${status} ${from} ${to} ${cursor} ${runs.isPlaceholderData}`} runs={data}>
                {(shown) => <RunList runs={shown} label="Runs, newest first" list={list} />}
              </LiveRuns>
            )}
            <PageButtons
              label="Pages of the run history"
              cursor={cursor}
              next={next_cursor}
              older={searched_back_to === undefined ? "Older" : "Search older runs"}
              onChange={(cursor) => filters.set({ cursor })}
            />
          </div>
        )}
      </Loaded>
    </section>
  )
}
