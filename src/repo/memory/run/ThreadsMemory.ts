import type { RunId, ThreadId } from "../../../domain/Id.ts"
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

/** The session that the thread's newest ended run reported. */
export const makeSessionOf =
  ({ where }: Tables) =>
  (id: ThreadId): { readonly session_id?: string } => {
    const ended = where((row) => row.thread_id === id && isFinal(row.status) && row.report?.session_id !== undefined)
    const newest = ended.sort(byPlace).at(-1)
    return newest === undefined ? {} : { session_id: newest.row.report!.session_id! }
  }

/** `LaneStore.threadsOf`. */
export const makeThreadsOf = (tables: Tables) => {
  const sessionOf = makeSessionOf(tables)
  return (ids: ReadonlyArray<RunId>): ReadonlyMap<RunId, LaneThread> =>
    new Map(
      ids.flatMap((run_id) => {
        const id = tables.find(run_id)?.row.thread_id
        return id === undefined ? [] : [[run_id, { id, ...sessionOf(id) }] as const]
      })
    )
}
