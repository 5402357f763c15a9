import { type Context, Effect, Option } from "effect"
import { NotFound, RunUnfinished, ThreadEnded } from "../../../domain/Errors.ts"
import type { ThreadId } from "../../../domain/Id.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import type { Thread } from "../../../domain/Thread.ts"
import { decodeTimeCursor, encodeCursor } from "../../history/Cursor.ts"
import { ThreadStore } from "../../run/ThreadStore.ts"
import { isOfCurrentTeam } from "../access/OwnerStoreMemory.ts"
import { change, isAfter, orNotFound, type StoredThread, type Tables } from "../Tables.ts"
import { makeLastReport, makeOpenThread } from "./ThreadsMemory.ts"

const placeOf = ({ id, last_run_at }: StoredThread): string => `${last_run_at.epochMillis} ${id}`

/** Those with the newest runs first; times have as many digits. */
const byPlace = (a: StoredThread, b: StoredThread): number => (placeOf(a) < placeOf(b) ? 1 : -1)

export const makeThreadStore = (tables: Tables): Context.Tag.Service<ThreadStore> => {
  const { audit, teams, threads, where } = tables
  const openThread = makeOpenThread(tables)
  const lastReport = makeLastReport(tables)
  const shown = (thread: StoredThread): Thread => {
    const { session_id } = lastReport(thread.id)
    return { ...thread, ...(session_id !== undefined && { session_id }) }
  }
  const isIdle = ({ id }: StoredThread) => where((row) => row.thread_id === id && !isFinal(row.status)).length === 0

  return ThreadStore.of({
    threads: ({ cursor, key, limit, team }) =>
      Effect.gen(function* () {
        const before = Option.getOrUndefined(yield* decodeTimeCursor(cursor))
        const found = [...threads.values()]
          .filter((thread) => thread.team === team && isOfCurrentTeam(tables, team, thread.created_at))
          .filter((thread) => key === undefined || thread.key === key)
          .filter((thread) => before === undefined || placeOf(thread) < before)
          .sort(byPlace)
        if (found.length === 0 && !teams.has(team)) return yield* new NotFound()
        const page = found.slice(0, limit)
        return {
          data: page.map(shown),
          next_cursor: found.length > limit ? encodeCursor(placeOf(page.at(-1)!)) : null
        }
      }),
    thread: (id) => orNotFound(() => threads.get(id), shown),
    continueThread: (run_id, at) =>
      Effect.gen(function* () {
        const run = tables.find(run_id)
        if (run === undefined) return yield* new NotFound()
        const { accepted_at, status, team, thread_id } = run.row
        if (thread_id === undefined) {
          if (!isFinal(status)) return yield* new RunUnfinished({ run_id })
          if (!teams.has(team)) return yield* new NotFound()
          const id = openThread(team, run_id)?.id ?? (run_id as string as ThreadId)
          threads.set(id, { id, team, key: run_id, created_at: accepted_at, ...threads.get(id), last_run_at: at })
          change(run, { thread_id: id, thread_key: run_id })
        }
        const thread = threads.get(run.row.thread_id!)!
        return thread.ended_at === undefined ? shown(thread) : yield* new ThreadEnded({ run_id })
      }),
    endThread: (id, at, draft) =>
      orNotFound(
        () => threads.get(id),
        (thread) => {
          if (thread.ended_at !== undefined) return shown(thread)
          const ended = { ...thread, ended_at: at }
          threads.set(id, ended)
          audit.write(draft, { object: id, after: { team: thread.team, key: thread.key } })
          return shown(ended)
        }
      ),
    endIdleThreads: (before, at) =>
      Effect.sync(() => {
        const idle = [...threads.values()].filter(
          (thread) => thread.ended_at === undefined && isAfter(before, thread.last_run_at) && isIdle(thread)
        )
        for (const thread of idle) threads.set(thread.id, { ...thread, ended_at: at })
        return idle.length
      })
  })
}
