/** How a search reads runs: in the order of an index, in portions, for a limited time. */
import { Clock, DateTime, Effect, Option } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { RunId, ThreadId, WebhookId } from "../../domain/Id.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import { isRunOf } from "../access/Ownership.ts"
import { list } from "../Columns.ts"
import { isAwaitingApproval, isUnanswered, live } from "../RunColumns.ts"
import { acceptedBetween, acceptedBetweenInOrder, leastId, slack } from "./AcceptedBetween.ts"
import { decodeCursor, decodeIdCursor } from "./Cursor.ts"
import { foldCase, inJson, type RunFilter, searchedId, searchedLength } from "./RunQuery.ts"

/**
 * How many runs a statement checks for conditions without an index: few at first, which is enough where many match,
 * then four times as many each time, up to the last number. Texts take longer.
 */
const portions = { rows: { first: 1_000, most: 16_000 }, texts: { first: 250, most: 2_000 } }

/** After this many milliseconds, no further portion is searched. */
const patience = 400

/** An index that gives runs in order, newest first, and the conditions to check. */
export interface Walk<Place extends number | string> {
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

export interface Found {
  readonly run_id: string
  readonly seq: number
}

/** The end of a portion. */
interface End<Place> {
  readonly place: Place
  readonly accepted_at: Date
}

type Filtered = RunFilter & { readonly cursor?: string }

export const makeWalks = Effect.gen(function* () {
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

  /** There is an index of these runs, in this spelling. */
  const isAsking = sql`((r.report -> 'asks') is not null or ${isAwaitingApproval})`
  const isOpen = sql`(${isAwaitingApproval} or ${isUnanswered})`

  const conditionsOf = (filter: RunFilter) => {
    const { asks, max_duration_ms, min_duration_ms, mode, owners, search, source, triggered_by, team, thread_id } =
      filter
    const took = sql`extract(epoch from r.finished_at - r.started_at) * 1000`
    return [
      ...(team === undefined ? [] : [sql`r.team = ${team}`]),
      ...(owners === undefined ? [] : [isRunOf(sql, "r", owners)]),
      ...(thread_id === undefined ? [] : [sql`r.thread_id = ${thread_id}`]),
      ...(source === undefined ? [] : [sql`r.source = ${source}`]),
      ...(mode === undefined ? [] : [sql`r.mode = ${mode}`]),
      ...(triggered_by === undefined ? [] : [sql`r.triggered_by = ${triggered_by}`]),
      ...(asks === undefined ? [] : [isAsking, isOpen]),
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

  const ofWebhook = Effect.fnUntraced(function* (webhook_id: WebhookId, { cursor, ...filter }: Filtered) {
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

  const ofThread = Effect.fnUntraced(function* (thread_id: ThreadId, { cursor, ...filter }: Filtered) {
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

  const ofAll = Effect.fnUntraced(function* ({ cursor, ...filter }: Filtered) {
    const { statuses, triggered_by, ...others } = filter
    const oldest = statuses?.some(isFinal) === false ? ((yield* oldestLive(filter)) ?? greatestId) : undefined
    return {
      column: "id",
      before: yield* decodeIdCursor(cursor),
      within: [
        ...(triggered_by === undefined ? [] : [sql`r.triggered_by = ${triggered_by}`]),
        ...(filter.asks === undefined ? [] : [isAsking]),
        ...acceptedBetweenInOrder(sql, filter),
        ...(oldest === undefined ? [] : [sql`r.id >= ${oldest}::uuid`])
      ],
      conditions: [...(statuses === undefined ? [] : [inStatuses(statuses)]), ...conditionsOf(others)],
      placeOf: ({ run_id }) => run_id,
      least: leastId(0),
      greatest: greatestId
    } satisfies Walk<string>
  })

  /** The run whose ID is searched: its conditions. */
  const named = (filter: RunFilter): ReadonlyArray<Statement.Fragment> | undefined => {
    const id = searchedId(filter)
    if (id === undefined) return undefined
    const { from, search: _, statuses, to, webhook_id, ...rest } = filter
    return [
      sql`r.id = ${id}::uuid`,
      ...(webhook_id === undefined ? [] : [sql`r.webhook_id = ${webhook_id}`]),
      ...(statuses === undefined ? [] : [inStatuses(statuses)]),
      ...(from === undefined ? [] : [sql`r.accepted_at >= ${DateTime.toDateUtc(from)}`]),
      ...(to === undefined ? [] : [sql`r.accepted_at < ${DateTime.toDateUtc(to)}`]),
      ...conditionsOf(rest)
    ]
  }

  const partsOf = <Place extends number | string>({
    column,
    conditions,
    greatest,
    least,
    placeOf,
    within
  }: Walk<Place>) => {
    const by = sql.literal(`r.${column}`)
    const type = sql.literal(column === "id" ? "uuid" : "bigint")
    const below = (place: Option.Option<Place>) => (Option.isNone(place) ? [] : [sql`${by} < ${place.value}::${type}`])

    /** The end of the portion that begins before `place`; `undefined`: it is the last one. */
    const endOf = Effect.fnUntraced(function* (place: Option.Option<Place>, size: number) {
      const [end] = yield* sql<Found & { readonly run_id: RunId; readonly accepted_at: Date }>`
        select id as run_id, seq::float8 as seq, accepted_at from webhook_trigger.runs where id = (
          select r.id from webhook_trigger.runs r where ${all([...within, ...below(place)])}
          order by ${by} desc offset ${size - 1}::int limit 1
        )`
      return end && ({ place: placeOf(end), accepted_at: end.accepted_at } satisfies End<Place>)
    })

    /**
     * The matching runs between two places. Two bounds, with the conditions outside: otherwise the planner
     * uses an index of a condition, or reads the table, and sorts.
     */
    const matching = (place: Option.Option<Place>, end: Place | undefined) => {
      const bounds = [...below(Option.orElseSome(place, () => greatest)), sql`${by} >= ${end ?? least}::${type}`]
      return sql`
        select r.* from (
          select r.* from webhook_trigger.runs r where ${all([...within, ...bounds])}
          order by ${by} desc limit ${2 * portions.rows.most}::int
        ) as r where ${all(conditions)}`
    }

    return { by, below, endOf, matching }
  }

  /**
   * Visits portions, newest first, until `visit` returns true or the time is up. Returns where it stopped early: in the
   * latter case only.
   */
  const inPortions = <Place extends number | string, E>(
    walk: Walk<Place>,
    { search }: RunFilter,
    visit: (runs: Statement.Fragment) => Effect.Effect<boolean, E>
  ) =>
    Effect.gen(function* () {
      const { endOf, matching } = partsOf(walk)
      const began = yield* Clock.currentTimeMillis
      const { first, most } = search === undefined ? portions.rows : portions.texts
      let size = first
      let place = walk.before
      for (;;) {
        const end = yield* endOf(place, size)
        if ((yield* visit(matching(place, end?.place))) || end === undefined) return undefined
        if ((yield* Clock.currentTimeMillis) - began >= patience) return end
        place = Option.some(end.place)
        size = Math.min(most, 4 * size)
      }
    })

  return { all, sql, ofAll, ofThread, ofWebhook, named, partsOf, inPortions }
})

const greatestId = "ffffffff-ffff-ffff-ffff-ffffffffffff"
