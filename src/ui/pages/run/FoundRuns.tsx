import { useRef, useState } from "react"
import { mostReplayed } from "../../../api/run/MostReplayed.ts"
import { isCancellable } from "../../../domain/run/RunStatus.ts"
import { useMay } from "../../api/Access.ts"
import type { AllRunsFilter } from "../../api/Changes.ts"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { RunSummary } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { LiveRuns } from "../../components/run/LiveRuns.tsx"
import { useReplayRuns } from "../../components/run/ReplayRuns.tsx"
import { RunList } from "../../components/run/RunList.tsx"
import { SelectionBar, useSelection } from "../../components/Selection.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { plural } from "../../format/Format.ts"
import { useShortcuts } from "../../frame/Shortcuts.ts"
import { RunPanel, useRunPanel, withoutPanel } from "./RunPanel.tsx"

/** A page of runs that can be selected, replayed and cancelled, with the mouse or with keys. */
export const FoundRuns = ({
  runs,
  filter,
  hasPages,
  stale,
  nameOf
}: {
  readonly runs: ReadonlyArray<RunSummary>
  readonly filter: AllRunsFilter
  /** More runs match than are on this page. */
  readonly hasPages: boolean
  /** These runs are placeholders until the requested page arrives. */
  readonly stale: boolean
  readonly nameOf: (run: RunSummary) => string
}) => {
  const search = withoutPanel(window.location.search)
  const panel = useRunPanel()
  const list = useRef<HTMLDivElement>(null)
  const { ids: chosen, select, toggle } = useSelection()
  const [own, setOwn] = useState<ReadonlySet<string>>(new Set())
  const [toCancel, setToCancel] = useState<ReadonlyArray<RunSummary>>()
  const [matching, setMatching] = useState<MatchingRuns>()
  const [collecting, setCollecting] = useState(false)
  const listed = new Set(runs.map(({ run_id }) => run_id))
  const others = matching?.runs.filter(({ run_id }) => !listed.has(run_id)) ?? []
  const selected = [...runs, ...others]
    .filter(({ run_id }) => chosen.has(run_id))
    .sort((a, b) => b.accepted_at.localeCompare(a.accepted_at) || b.run_id.localeCompare(a.run_id))
  const selectNone = () => {
    setMatching(undefined)
    select([])
  }
  const selectMatching = async () => {
    setCollecting(true)
    try {
      const found = await matchingRuns(filter)
      setMatching(found)
      select(found.runs.map(({ run_id }) => run_id))
    } catch (error) {
      toastFailure(explain(error).title)
    } finally {
      setCollecting(false)
    }
  }
  const toBeCancelled = cancellable(selected)

  const rows = () => [...(list.current?.querySelectorAll<HTMLElement>("a.run") ?? [])]
  const isFocused = (row: HTMLElement) => row === document.activeElement
  const focused = () => {
    const id = rows().find(isFocused)?.getAttribute("href")?.split("/").at(-1)
    return runs.find(({ run_id }) => run_id === id)
  }
  /** Moves the focus to another row, initially to the first. */
  const move = (by: 1 | -1) => {
    const all = rows()
    const at = all.findIndex(isFocused)
    all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))]?.focus()
    const id = focused()?.run_id
    if (panel.shown !== "" && id !== undefined) panel.show(id)
  }
  /** The selected runs, or the focused one. */
  const wanted = () => {
    const row = focused()
    return selected.length > 0 ? selected : row ? [row] : []
  }
  const cancel = () => {
    const runs = wanted()
    if (may("runs.cancelSome") && cancellable(runs).length > 0) setToCancel(runs)
  }
  const may = useMay()
  const { ask, dialog, pending } = useReplayRuns((made) => {
    selectNone()
    setOwn(new Set([...own, ...made]))
  })
  /** In the order of acceptance. */
  const replay = () => {
    const run_ids = wanted().map(({ run_id }) => run_id)
    if (may("runs.replayMany") && run_ids.length > 0) ask({ run_ids: run_ids.toReversed() })
  }
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    x: () => {
      const row = focused()
      if (row) toggle(row.run_id)
    },
    c: cancel,
    r: replay
  })

  return (
    <div ref={list}>
      <SelectionBar
        label="Selected runs"
        count={selected.length}
        {...(selected.length > 0 && matching?.more && { note: ". More runs match; these are the newest." })}
        page={[...listed]}
        onSelect={(ids) => (ids.length === 0 ? selectNone() : select(ids))}
        more={
          hasPages &&
          matching === undefined && (
            <Button compact variant="quiet" onPress={() => void selectMatching()} pending={collecting}>
              Select all that match the filter
            </Button>
          )
        }
      >
        {selected.length > 0 && (
          <Button needs="runs.replayMany" compact onPress={replay} pending={pending}>
            Replay {plural(selected.length, "run")}
          </Button>
        )}
        {toBeCancelled.length > 0 && (
          <Button needs="runs.cancelSome" compact variant="danger" onPress={cancel}>
            Cancel {plural(toBeCancelled.length, "run")}
          </Button>
        )}
      </SelectionBar>
      {/* Placeholders must not be held in place. */}
      <div className={panel.shown === "" ? "" : "with-run-panel"}>
        <LiveRuns key={String(stale)} runs={runs} own={own}>
          {(shown) => (
            <RunList
              runs={shown}
              label="Runs, newest first"
              nameOf={nameOf}
              selection={{ ids: chosen, toggle }}
              list={search}
              panel={panel}
            />
          )}
        </LiveRuns>
        {panel.shown !== "" && <RunPanel key={panel.shown} run_id={panel.shown} onClose={panel.close} />}
      </div>
      {dialog}
      {toCancel && <CancelRuns runs={toCancel} onClose={() => setToCancel(undefined)} />}
    </div>
  )
}

/** The runs that can be cancelled: unfinished ones, failed ones with a pending retry, and ended ones whose agents work. */
const cancellable = (runs: ReadonlyArray<RunSummary>): ReadonlyArray<RunSummary> => runs.filter(isCancellable)

/** As many as one request may name. */
const atOnce = 100

/** Cancels all cancellable runs after a confirmation. */
const CancelRuns = ({ runs, onClose }: { readonly runs: ReadonlyArray<RunSummary>; readonly onClose: () => void }) => {
  const live = cancellable(runs)
  const ended = runs.length - live.length
  const isRetried = live.some(({ retry_at }) => retry_at !== undefined)
  const cancel = async () => {
    const run_ids = live.map(({ run_id }) => run_id)
    let cancelled = 0
    // All may have ended while the dialog was open.
    for (let at = 0; at < run_ids.length; at += atOnce) {
      const payload = { run_ids: run_ids.slice(at, at + atOnce) }
      cancelled += (await runAction(() => api.runs.cancelSome({ payload }))).cancelled.length
    }
    onClose()
    await queries.invalidateQueries()
    toast(`${plural(cancelled, "run")} cancelled`)
  }
  return (
    <ConfirmDialog
      title={`Cancel ${plural(live.length, "run")}?`}
      action="Cancel them"
      cancel="Keep them"
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>
        Queued runs won't be sent. For runs in progress, the leader is asked to stop; work already done is not undone.
        {isRetried && " Failed runs won't be retried."}
      </p>
      {ended > 0 && <p>{plural(ended, "selected run")} already ended and won't change.</p>}
    </ConfirmDialog>
  )
}

interface MatchingRuns {
  /** Newest first. */
  readonly runs: ReadonlyArray<RunSummary>
  /** There are more than can be selected at once. */
  readonly more: boolean
}

/** The newest runs with this filter, as many as one request can replay. */
const matchingRuns = async ({ cursor: _, ...filter }: AllRunsFilter): Promise<MatchingRuns> => {
  const runs: Array<RunSummary> = []
  let cursor: string | null | undefined
  do {
    const query = { ...filter, limit: 100, ...(cursor && { cursor }) }
    const page = await runAction(() => api.runs.list({ query }))
    runs.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null && runs.length < mostReplayed)
  return { runs: runs.slice(0, mostReplayed), more: cursor !== null || runs.length > mostReplayed }
}
