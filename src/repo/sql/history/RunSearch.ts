import { SqlClient, type Statement } from "@effect/sql"
import { Clock, DateTime, Effect, Option } from "effect"
import { NotFound } from "../../../domain/Errors.ts"
import type { RunId, ThreadId, WebhookId } from "../../../domain/Id.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { decodeCursor, decodeIdCursor, encodeCursor } from "../../history/Cursor.ts"
import {
  foldCase,
  inJson,
  type RunFilter,
  type RunPage,
  type RunQuery,
  searchedId,
  searchedLength
} from "../../history/RunQuery.ts"
import { list } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { live, summariesOf, summaryFromRow } from "../RunColumns.ts"
import { acceptedBetween, acceptedBetweenInOrder, leastId, slack } from "./AcceptedBetween.ts"

/**
 * How many runs a statement checks for conditions without an index: few at first, which is enough where many match,
 * then four times as many each time, up to the last number. Texts take longer.
 */
const portions = { rows: { first: 1_000, most: 16_000 }, texts: { first: 250, most: 2_000 } }

/** After this many milliseconds, no further portion is searched. */
const patience = 400

/** An index that gives runs in order, newest first, and the conditions to check. */
interface Walk<Place extends number | string> {
  readonly column: "id" | "seq"
  /** The start of the search. */
  readonly before: Option.Option<Place>
  /** Conditions that the index answers, and those that exclude a few runs at its ends. */
  readonly within: ReadonlyArray<Statement.Fragment>
  /** Conditions that any number of runs may fail. */
  readonly conditions: ReadonlyArray<Statement.Fragment>
  readonly placeOf: (row: Found) => Place
  readonly least: Place
  readonly greatest: Place
}

interface Found {
  readonly run_id: string
  readonly seq: number
}

/**
 * `HistoryStore.runs`. A webhook's runs are read by the index of its history, those of all by the primary key. There is
 * no other index, which every change of a run would have to update. Other conditions are searched for in portions, for
 * a limited time.
 */
export const makeRuns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const all = (conditions: ReadonlyArray<Statement.Fragment>) =>
    conditions.length === 0 ? sql`true` : sql.and(conditions)

  /** A text with few bytes has few characters: most are not counted, since counting takes longer than searching. */
  const contains = (name: string, part: string): Statement.Fragment => {
    const [text, length] = [sql.literal(name), sql.literal(String(searchedLength))]
    const beginning = sql`case when octet_length(${text}) > ${length} then left(${text}, ${length}) else ${text} end`
    return sql`strpos(lower((${beginning}) collate "C"), ${foldCase(part)}) > 0`
  }

  const inStatuses = (statuses: NonNullable<RunFilter["statuses"]>) =>
    sql`r.status in (${list(statuses.map((status) => `'${status}'`))})`

  const conditionsOf = ({ max_duration_ms, min_duration_ms, mode, search, source, team, thread_id }: RunFilter) => {
    const took = sql`extract(epoch from r.finished_at - r.started_at) * 1000`
    return [
      ...(team === undefined ? [] : [sql`r.team = ${team}`]),
      ...(thread_id === undefined ? [] : [sql`r.thread_id = ${thread_id}`]),
      ...(source === undefined ? [] : [sql`r.source = ${source}`]),
      ...(mode === undefined ? [] : [sql`r.mode = ${mode}`]),
      ...(min_duration_ms === undefined ? [] : [sql`${took} >= ${min_duration_ms}::float8`]),
      ...(max_duration_ms === undefined ? [] : [sql`${took} <= ${max_duration_ms}::float8`]),
      ...(search === undefined
        ? []
        : [
            sql.or([
              contains("r.prompt", search),
              contains("r.variables::text", inJson(search)),
              contains("r.response", search),
              contains("r.error_message", search)
            ])
          ])
    ]
  }

  const ofWebhook = Effect.fnUntraced(function* (webhook_id: WebhookId, { cursor, ...filter }: RunQuery) {
    const { statuses } = filter
    const inIndex = statuses?.length === 1
    return {
      column: "seq",
      before: yield* decodeCursor(cursor),
      within: [
        sql`r.webhook_id = ${webhook_id}`,
        ...(inIndex ? [sql`r.status = ${statuses[0]!}`] : []),
        ...acceptedBetween(sql, filter)
      ],
      conditions: [...(inIndex || statuses === undefined ? [] : [inStatuses(statuses)]), ...conditionsOf(filter)],
      placeOf: ({ seq }) => seq,
      least: 0,
      greatest: Number.MAX_SAFE_INTEGER
    } satisfies Walk<number>
  })

  const ofThread = Effect.fnUntraced(function* (thread_id: ThreadId, { cursor, ...filter }: RunQuery) {
    const { statuses, thread_id: _, ...others } = filter
    return {
      column: "seq",
      before: yield* decodeCursor(cursor),
      within: [sql`r.thread_id = ${thread_id}`, ...acceptedBetween(sql, filter)],
      conditions: [...(statuses === undefined ? [] : [inStatuses(statuses)]), ...conditionsOf(others)],
      placeOf: ({ seq }) => seq,
      least: 0,
      greatest: Number.MAX_SAFE_INTEGER
    } satisfies Walk<number>
  })

  /**
   * A little before the acceptance of the oldest unfinished run. A run that others could join has a place behind later
   * runs.
   */
  const oldestLive = Effect.fnUntraced(function* ({ team }: RunFilter) {
    const rows = yield* sql<{ readonly id: RunId }>`
      select oldest.id from webhook_trigger.teams t cross join lateral (
        (
          select id from webhook_trigger.runs
          where team = t.team and status = 'queued' and admitted_at is null order by place limit 1
        ) union all (
          select id from webhook_trigger.runs
          where team = t.team and status in ${live} and joined is not null order by seq limit 1
        ) union all (
          select id from webhook_trigger.runs
          where team = t.team and status in ${live} and admitted_at is not null order by seq limit 1
        )
      ) as oldest where ${team === undefined ? sql`true` : sql`t.team = ${team}`}
      order by oldest.id limit 1`
    return rows.map(({ id }) => leastId(Number.parseInt(id.replace("-", "").slice(0, 12), 16) - slack))[0]
  })

  const ofAll = Effect.fnUntraced(function* ({ cursor, ...filter }: RunQuery) {
    const { statuses } = filter
    const oldest = statuses?.some(isFinal) === false ? ((yield* oldestLive(filter)) ?? greatestId) : undefined
    return {
      column: "id",
      before: yield* decodeIdCursor(cursor),
      within: [...acceptedBetweenInOrder(sql, filter), ...(oldest === undefined ? [] : [sql`r.id >= ${oldest}::uuid`])],
      conditions: [...(statuses === undefined ? [] : [inStatuses(statuses)]), ...conditionsOf(filter)],
      placeOf: ({ run_id }) => run_id,
      least: leastId(0),
      greatest: greatestId
    } satisfies Walk<string>
  })

  const look = Effect.fnUntraced(function* <Place extends number | string>(
    { before, column, conditions, greatest, least, placeOf, within }: Walk<Place>,
    { limit, search }: RunQuery
  ) {
    const by = sql.literal(`r.${column}`)
    const type = sql.literal(column === "id" ? "uuid" : "bigint")
    const below = (place: Option.Option<Place>) => (Option.isNone(place) ? [] : [sql`${by} < ${place.value}::${type}`])
    const read = (runs: Statement.Fragment) => sql<Found>`${summariesOf(sql, runs, by)}`

    /** The end of the portion that begins before `place`; `undefined`: it is the last one. */
    const endOf = (place: Option.Option<Place>, size: number) =>
      sql<{ readonly run_id: RunId; readonly seq: number; readonly accepted_at: Date }>`
        select id as run_id, seq::float8 as seq, accepted_at from webhook_trigger.runs where id = (
          select r.id from webhook_trigger.runs r where ${all([...within, ...below(place)])}
          order by ${by} desc offset ${size - 1}::int limit 1
        )`

    /**
     * Two bounds, with the conditions outside: otherwise the planner uses an index of a condition, or reads the table,
     * and sorts.
     */
    const matches = (place: Option.Option<Place>, end: Place | undefined, most: number) => {
      const bounds = [...below(Option.orElseSome(place, () => greatest)), sql`${by} >= ${end ?? least}::${type}`]
      return read(sql`
        select r.* from (
          select r.* from webhook_trigger.runs r where ${all([...within, ...bounds])}
          order by ${by} desc limit ${2 * portions.rows.most}::int
        ) as r where ${all(conditions)} order by ${by} desc limit ${most}::int`)
    }

    const page = (rows: ReadonlyArray<Found>): RunPage => {
      const data = rows.slice(0, limit)
      return {
        data: data.map(summaryFromRow),
        next_cursor: rows.length > limit ? encodeCursor(placeOf(data.at(-1)!)) : null
      }
    }

    if (conditions.length === 0) {
      const newest = sql`
        select r.* from webhook_trigger.runs r where ${all([...within, ...below(before)])}
        order by ${by} desc limit ${limit + 1}::int`
      return page(yield* read(newest))
    }
    const began = yield* Clock.currentTimeMillis
    const { first, most } = search === undefined ? portions.rows : portions.texts
    let size = first
    let place = before
    let found: ReadonlyArray<Found> = []
    for (;;) {
      const [end] = yield* endOf(place, size)
      const next = end && placeOf(end)
      found = [...found, ...(yield* matches(place, next, limit + 1 - found.length))]
      if (found.length > limit || end === undefined || next === undefined) return page(found)
      if ((yield* Clock.currentTimeMillis) - began >= patience) {
        const searched_back_to = DateTime.unsafeFromDate(end.accepted_at)
        return { ...page(found), next_cursor: encodeCursor(next), searched_back_to }
      }
      place = Option.some(next)
      size = Math.min(most, 4 * size)
    }
  })

  /** The run whose ID is searched. */
  const named = Effect.fnUntraced(function* (filter: RunFilter) {
    const id = searchedId(filter)
    if (id === undefined) return []
    const { from, search: _, statuses, to, webhook_id, ...rest } = filter
    const conditions = [
      sql`r.id = ${id}::uuid`,
      ...(webhook_id === undefined ? [] : [sql`r.webhook_id = ${webhook_id}`]),
      ...(statuses === undefined ? [] : [inStatuses(statuses)]),
      ...(from === undefined ? [] : [sql`r.accepted_at >= ${DateTime.toDateUtc(from)}`]),
      ...(to === undefined ? [] : [sql`r.accepted_at < ${DateTime.toDateUtc(to)}`]),
      ...conditionsOf(rest)
    ]
    const found = sql`select r.* from webhook_trigger.runs r where ${all(conditions)}`
    return yield* sql`${summariesOf(sql, found)}`
  })

  return Effect.fn("HistoryStore.runs")(function* (query: RunQuery) {
    const { cursor, thread_id, webhook_id } = query
    const one = cursor === undefined ? yield* named(query) : []
    if (one.length > 0) return { data: one.map(summaryFromRow), next_cursor: null }
    if (webhook_id === undefined) {
      return yield* thread_id === undefined
        ? look(yield* ofAll(query), query)
        : look(yield* ofThread(thread_id, query), query)
    }
    const page = yield* look(yield* ofWebhook(webhook_id, query), query)
    if (page.data.length === 0) {
      const known = yield* sql`select 1 from webhook_trigger.webhooks where id = ${webhook_id}`
      if (known.length === 0) return yield* new NotFound()
    }
    return page
  }, bounded)
})

const greatestId = "ffffffff-ffff-ffff-ffff-ffffffffffff"
