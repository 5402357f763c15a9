import type { RunId, ThreadId } from "../../../domain/Id.ts"
import { type AgentReport, sessionOf } from "../../../domain/run/AgentReport.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { storable } from "../../../domain/StorableText.ts"
import type { LaneThread } from "../../run/LaneStore.ts"
import type { NewRun } from "../../run/RunStore.ts"
import { byPlace, type StoredThread, type Tables } from "../Tables.ts"

export const makeOpenThread =
  ({ threads }: Tables) =>
  (team: string, key: string): StoredThread | undefined =>
    [...threads.values()].find((thread) => thread.team === team && thread.key === key && thread.ended_at === undefined)

/** How an accepted run joins its thread. */
export const makeJoinThread = (tables: Tables) => {
  const { threads } = tables
  const openThread = makeOpenThread(tables)

  return ({ accepted_at, run_id, team, thread_key }: NewRun) => {
    if (thread_key === undefined) return {}
    const key = storable(thread_key)
    const known = openThread(team, key)
    // A new thread has the id of its first run.
    const id = known?.id ?? (run_id as string as ThreadId)
    threads.set(id, { id, team, key, created_at: accepted_at, ...known, last_run_at: accepted_at })
    return { thread_id: id, thread_key: key }
  }
}

/** What the thread's newest ended run with a session reported. */
export const makeLastReport =
  ({ where }: Tables) =>
  (id: ThreadId): AgentReport => {
    const ended = where((row) => row.thread_id === id && isFinal(row.status) && row.report?.session_id !== undefined)
    return ended.sort(byPlace).at(-1)?.row.report ?? {}
  }

/** `LaneStore.threadsOf`. */
export const makeThreadsOf = (tables: Tables) => {
  const lastReport = makeLastReport(tables)
  return (ids: ReadonlyArray<RunId>): ReadonlyMap<RunId, LaneThread> =>
    new Map(
      ids.flatMap((run_id) => {
        const id = tables.find(run_id)?.row.thread_id
        return id === undefined ? [] : [[run_id, { id, ...sessionOf(lastReport(id)) }] as const]
      })
    )
}
