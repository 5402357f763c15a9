import { useRef } from "react"
import { runExports } from "../../../api/ExportPaths.ts"
import type { AllRunsFilter } from "../../api/Changes.ts"
import { useAllRuns, useUsage, useWebhooks } from "../../api/Queries.ts"
import type { RunSummary } from "../../api/Types.ts"
import { DownloadLink } from "../../components/DownloadLink.tsx"
import { dateTime } from "../../components/form/DateField.tsx"
import { Loaded } from "../../components/Loaded.tsx"
import { Page } from "../../components/Page.tsx"
import { PageButtons } from "../../components/PageButtons.tsx"
import { NoRuns } from "../../components/run/NoRuns.tsx"
import { describeUsage, formatNumber, plural } from "../../format/Format.ts"
import { useShortcuts } from "../../frame/Shortcuts.ts"
import { FoundRuns } from "./FoundRuns.tsx"
import { RunFilters, useRunFilter } from "./RunFilters.tsx"

/** The address of an export with this filter. */
const exportOf = (path: string, { cursor: _, ...filter }: AllRunsFilter): string =>
  `${path}?${new URLSearchParams(Object.entries(filter).map(([name, value]) => [name, String(value)]))}`

/** The runs of all webhooks and teams. The filters and the page are in the address. */
const RunsPage = () => {
  const { filter, set, filtered } = useRunFilter()
  const runs = useAllRuns(filter)
  const webhooks = useWebhooks()
  const field = useRef<HTMLElement>(null)
  const nameOf = (run: RunSummary) =>
    run.webhook_id === undefined ? "Chat" : (webhooks.data?.find(({ id }) => id === run.webhook_id)?.name ?? "Webhook")

  useShortcuts({ "/": () => field.current?.querySelector("input")?.select() })

  return (
    <Page
      title="Runs"
      actions={
        <>
          <DownloadLink href={exportOf(runExports.csv, filter)}>Export CSV</DownloadLink>
          <DownloadLink href={exportOf(runExports.jsonl, filter)}>Export JSON Lines</DownloadLink>
        </>
      }
    >
      <RunFilters ref={field} />
      <UsageSum filter={filter} />
      <Loaded query={runs}>
        {({ data, next_cursor, searched_back_to }) => (
          <section className="card stack" aria-label="Runs found" aria-busy={runs.isPlaceholderData}>
            {data.length === 0 ? (
              <NoRuns
                filtered={filtered || filter.cursor !== undefined}
                searchedBackTo={searched_back_to}
                none="No runs yet."
              />
            ) : (
              <FoundRuns
                key={JSON.stringify(filter)}
                runs={data}
                filter={filter}
                hasPages={filter.cursor !== undefined || next_cursor !== null}
                stale={runs.isPlaceholderData}
                nameOf={nameOf}
              />
            )}
            {data.length > 0 && searched_back_to !== undefined && (
              <p className="small" role="status">
                Search stopped early; showing runs since {dateTime.format(new Date(searched_back_to))}.
              </p>
            )}
            <PageButtons
              label="Pages of runs"
              cursor={filter.cursor ?? ""}
              next={next_cursor}
              older={searched_back_to === undefined ? "Older" : "Search older runs"}
              onChange={(cursor) => set({ cursor })}
            />
          </section>
        )}
      </Loaded>
      <p className="small muted keys">
        <kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> next and previous run <kbd>Enter</kbd> open <kbd>Esc</kbd> close{" "}
        <kbd>x</kbd> select <kbd>c</kbd> cancel <kbd>r</kbd> replay
      </p>
    </Page>
  )
}

/** The usage of all runs with this filter, if any of them reported it. */
const UsageSum = ({ filter: { cursor: _, ...filter } }: { readonly filter: AllRunsFilter }) => {
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

export default RunsPage
