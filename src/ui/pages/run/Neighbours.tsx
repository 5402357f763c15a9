import { Link } from "wouter"
import { useHistoryState } from "wouter/use-browser-location"
import { pathTo } from "../../../api/Pages.ts"
import { useAllRuns } from "../../api/Queries.ts"
import { useFilterOf } from "./RunFilters.tsx"

/** The list that a run was opened from: the search part of its address. */
export const useListOfRun = (): string | undefined => {
  const state: { readonly list?: unknown } | null = useHistoryState()
  return typeof state?.list === "string" ? state.list : undefined
}

const withCursor = (list: string, cursor: string): string => {
  const parameters = new URLSearchParams(list)
  parameters.set("cursor", cursor)
  return `?${parameters}`
}

/** Links to the newer and the older run in the list that the run was opened from. */
export const Neighbours = ({ run_id, list }: { readonly run_id: string; readonly list: string }) => {
  const parameters = new URLSearchParams(list)
  const filter = useFilterOf((name) => parameters.get(name) ?? "")
  const { data: page } = useAllRuns(filter)
  const at = page?.data.findIndex((run) => run.run_id === run_id) ?? -1
  const isLast = page !== undefined && at === page.data.length - 1
  const cursor = isLast ? page.next_cursor : null
  const { data: next } = useAllRuns({ ...filter, ...(cursor !== null && { cursor }) })
  if (page === undefined || at < 0) return null
  const newer = page.data[at - 1]
  const older = isLast ? (cursor === null ? undefined : next?.data[0]) : page.data[at + 1]
  return (
    <nav className="row small" aria-label="Runs of the list">
      {newer && (
        <Link to={pathTo("run", newer)} state={{ list }} rel="prev">
          ← Newer run
        </Link>
      )}
      {older && older.run_id !== run_id && (
        <Link to={pathTo("run", older)} state={{ list: cursor === null ? list : withCursor(list, cursor) }} rel="next">
          Older run →
        </Link>
      )}
    </nav>
  )
}
