import { Context, DateTime, Effect, Layer, Option } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import { NotFound, RunUnfinished, ThreadEnded } from "../../domain/Errors.ts"
import type { RunId, ThreadId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Thread } from "../../domain/Thread.ts"
import { audited } from "../access/Audit.ts"
import { isOfCurrentTeam } from "../access/Ownership.ts"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { decodeTimeCursor, encodeCursor } from "../history/Cursor.ts"
import { final, live } from "../RunColumns.ts"
import { lastReport } from "./Threads.ts"

/** A page of a team's threads, those with the newest runs first. */
export interface ThreadQuery {
  readonly team: TeamName
  readonly key?: string
  readonly limit: number
  /** Opaque; from the page before, of the same query. */
  readonly cursor?: string
}

export interface ThreadPage {
  readonly data: ReadonlyArray<Thread>
  /** `null` on the last page. */
  readonly next_cursor: string | null
}

/** Ended by one statement at most. */
const portion = 500

const cursorAfter = ({ id, last_run_at }: Thread): string => encodeCursor(`${last_run_at.epochMilliseconds} ${id}`)

const isBefore = (sql: SqlClient.SqlClient, place: string): Statement.Fragment => {
  const [time, id] = place.split(" ")
  return sql`(t.last_run_at, t.id) < (${new Date(Number(time))}::timestamptz, ${id}::uuid)`
}

/** Conversations as people read and end them. Runs join them in `RunStore.accept`. A thread without runs is gone. */
export class ThreadStore extends Context.Service<ThreadStore>()("webhook-trigger/ThreadStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const select = (which: Statement.Fragment) => sql`
      select t.id, t.team, t.key, t.created_at, t.last_run_at, t.ended_at, ${lastReport(sql, "t.id")} ->> 'session_id' as session_id
      from webhook_trigger.threads t where ${which}`

    const found = Effect.fnUntraced(function* (id: ThreadId) {
      const [row] = yield* select(sql`t.id = ${id}`)
      return row ? fromRow<Thread>(row) : yield* new NotFound()
    })
    const thread = Effect.fn("ThreadStore.thread")(found, bounded)

    /** `NotFound`: there is no such team. */
    const threads = Effect.fn("ThreadStore.threads")(function* ({ cursor, key, limit, team }: ThreadQuery) {
      const before = yield* decodeTimeCursor(cursor)
      const conditions = [
        sql`t.team = ${team}`,
        isOfCurrentTeam(sql, "t", "created_at"),
        ...(key === undefined ? [] : [sql`t.key = ${key}`]),
        ...(Option.isNone(before) ? [] : [isBefore(sql, before.value)])
      ]
      const rows = yield* sql`
        ${select(sql.and(conditions))} order by t.last_run_at desc, t.id desc limit ${limit + 1}::int`
      if (rows.length === 0) {
        const known = yield* sql`select 1 from webhook_trigger.teams where team = ${team}`
        if (known.length === 0) return yield* new NotFound()
      }
      const data = rows.slice(0, limit).map((row) => fromRow<Thread>(row))
      return { data, next_cursor: rows.length > limit ? cursorAfter(data.at(-1)!) : null } satisfies ThreadPage
    }, bounded)

    /** Runs that are accepted after that have a later place in the lane. */
    const mayBegin = sql`(r.status in ${final} or r.place is not null)`

    /** The lock keeps a second reply at the same time from beginning another thread. `at` keeps the thread from being idle. */
    const beginWith = (id: RunId, at: DateTime.Utc) => sql`
      with first as materialized (
        select r.id, r.team, r.id::text as key, r.accepted_at from webhook_trigger.runs r
        where r.id = ${id} and r.thread_id is null and ${mayBegin}
          and exists (select from webhook_trigger.teams t where t.team = r.team)
        for no key update of r
      ), thread as (
        insert into webhook_trigger.threads as t (id, team, key, created_at, last_run_at)
        select id, team, key, accepted_at, ${DateTime.toDateUtc(at)} from first
        on conflict (team, key) where ended_at is null do update set last_run_at = excluded.last_run_at
        returning t.id, t.key
      )
      update webhook_trigger.runs r set thread_id = thread.id, thread_key = thread.key from first, thread
      where r.id = first.id`

    /**
     * The run's thread, to be continued. A run without one begins it: it is the thread's first run, and its ID the key.
     * `RunUnfinished`: it has no place in the lane yet. `NotFound`: no such run, or its team was deleted.
     */
    const continueThread = Effect.fn("ThreadStore.continueThread")(function* (run_id: RunId, at: DateTime.Utc) {
      const read = sql<{ readonly may_begin: boolean; readonly thread_id: ThreadId | null }>`
        select ${mayBegin} as may_begin, r.thread_id from webhook_trigger.runs r where r.id = ${run_id}`
      const [run] = yield* read
      if (run === undefined) return yield* new NotFound()
      if (!run.may_begin) return yield* new RunUnfinished({ run_id })
      if (run.thread_id === null) yield* beginWith(run_id, at)
      const thread_id = run.thread_id ?? (yield* read)[0]?.thread_id
      if (!thread_id) return yield* new NotFound()
      const thread = yield* found(thread_id)
      return thread.ended_at === undefined ? thread : yield* new ThreadEnded({ run_id })
    }, bounded)

    /** Ends the thread, unless it has ended. With a draft, this writes its audit event in the same commit. */
    const endThread = Effect.fn("ThreadStore.endThread")(function* (
      id: ThreadId,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) {
      yield* sql`
        with ended as (
          update webhook_trigger.threads t set ended_at = ${DateTime.toDateUtc(at)}
          where t.id = ${id} and t.ended_at is null
          returning t.id, t.team, t.key
        ), ${audited(
          sql,
          audit,
          sql`select id::text as object, null as before, json_build_object('team', team, 'key', key) as after from ended`
        )}
        select id from ended`
      return yield* found(id)
    }, bounded)

    /**
     * Ends a portion of the threads whose runs have ended, all accepted before `before`; returns how many.
     *
     * Rows that an acceptance has locked are left out: these threads are not idle.
     */
    const endIdleThreads = Effect.fn("ThreadStore.endIdleThreads")(function* (before: DateTime.Utc, at: DateTime.Utc) {
      const ended = yield* sql`
        with idle as materialized (
          select t.id from webhook_trigger.threads t
          where t.ended_at is null and t.last_run_at < ${DateTime.toDateUtc(before)} and not exists (
            select from webhook_trigger.runs r where r.thread_id = t.id and r.status in ${live}
          )
          order by t.last_run_at limit ${portion} for no key update skip locked
        )
        update webhook_trigger.threads t set ended_at = ${DateTime.toDateUtc(at)} from idle where t.id = idle.id
        returning t.id`
      return ended.length
    }, bounded)

    return { threads, thread, continueThread, endThread, endIdleThreads }
  })
}) {
  static readonly layer = Layer.effect(ThreadStore, ThreadStore.make)
}
