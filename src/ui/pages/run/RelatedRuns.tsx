import { Link } from "wouter"
import { useHistoryState } from "wouter/use-browser-location"
import { pathTo } from "../../../api/Pages.ts"
import { useAllRuns, useReplays, useRun } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { Loaded } from "../../components/Loaded.tsx"
import { RawText } from "../../components/RawText.tsx"
import { RunList } from "../../components/run/RunList.tsx"
import { StatusBadge } from "../../components/run/Status.tsx"
import { plural } from "../../format/Format.ts"
import { ExactTime } from "../../format/Time.tsx"
import { useFilterOf } from "./RunFilters.tsx"

/** The original of a replay, or the attempts before and after a run. */
export const ReplayOf = ({
  run: { attempt, max_attempts, replay_of, retried_by, retry_at, retry_of }
}: {
  readonly run: Run
}) => (
  <>
    {replay_of !== undefined && (
      <span>
        Replay of <Link to={pathTo("run", { run_id: replay_of })}>an earlier run</Link>
      </span>
    )}
    {max_attempts !== undefined && (
      <span>
        Attempt {attempt} of {max_attempts}
        {retry_of !== undefined && (
          <>
            , after <Link to={pathTo("run", { run_id: retry_of })}>one that failed</Link>
          </>
        )}
        {retried_by !== undefined && (
          <>
            , followed by <Link to={pathTo("run", { run_id: retried_by })}>the next one</Link>
          </>
        )}
        {retry_at !== undefined && (
          <>
            ; next attempt: <ExactTime at={retry_at} />
          </>
        )}
      </span>
    )}
  </>
)

/** The run's replays, without its next attempt. */
export const Replays = ({ run: { retried_by, run_id } }: { readonly run: Run }) => {
  const { data } = useReplays(run_id)
  const replays = data?.data.filter((run) => run.run_id !== retried_by) ?? []
  if (replays.length === 0) return null
  return (
    <section className="card stack tight" aria-label="Replays">
      <h2>{plural(replays.length, "replay")}</h2>
      <RunList runs={replays} label="Replays, newest first" />
    </section>
  )
}

/** A replay beside its original. */
export const Comparison = ({ run, original }: { readonly run: Run; readonly original: string }) => {
  const query = useRun(original)
  return (
    <section className="card stack tight" aria-label="Comparison with the original">
      <h2>Comparison with the original</h2>
      <Loaded query={query}>
        {(before) => (
          <div className="comparison">
            <Side run={before} title="Original" isLink />
            <Side run={run} title="This replay" />
          </div>
        )}
      </Loaded>
    </section>
  )
}

const Side = ({ run, title, isLink }: { readonly run: Run; readonly title: string; readonly isLink?: boolean }) => {
  const of = title.toLowerCase()
  return (
    <section className="stack tight" aria-label={title}>
      <h3 className="row">
        {isLink ? <Link to={pathTo("run", run)}>{title}</Link> : title} <StatusBadge run={run} />
        <span className="small muted">
          <ExactTime at={run.accepted_at} />
        </span>
      </h3>
      <RawText text={run.conversation.prompt} title="Prompt" what={`the prompt of the ${of}`} />
      {run.conversation.response === undefined ? (
        <p className="small muted">{run.error?.message ?? "No answer"}</p>
      ) : (
        <RawText text={run.conversation.response} title="Answer" what={`the answer of the ${of}`} />
      )}
    </section>
  )
}

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
