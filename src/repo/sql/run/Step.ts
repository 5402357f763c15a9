import { SqlClient } from "@effect/sql"
import { DateTime, Effect } from "effect"
import type { RunId } from "../../../domain/Id.ts"
import { endsWork, type Run } from "../../../domain/run/Run.ts"
import type { TeamName } from "../../../domain/Team.ts"
import { whenTraced } from "../../../telemetry/Span.ts"
import { firstOfEach, type RunEnd, type RunEvent } from "../../run/RunEnd.ts"
import type { NewRun, OutRun, StepInput, StepOptions } from "../../run/RunStore.ts"
import { bounded } from "../database/Database.ts"
import type { NotifySoon } from "../database/NotifySoon.ts"
import { runColumns, runFromRow } from "../RunColumns.ts"
import { makeAccept } from "./Accept.ts"
import type { makeEnds } from "./Ends.ts"
import { makeStoreContents } from "./FileStoreSql.ts"
import { type Inserted, makeInsert } from "./Insert.ts"
import { noOutColumns, outColumns, outRunFromRow } from "./OutRuns.ts"
import { isExclusive } from "./Singletons.ts"

type Ends = Effect.Effect.Success<ReturnType<typeof makeEnds>>

interface Row {
  readonly kind: "answers" | "ended" | "superseded" | "admitted" | "needs leader"
  readonly answers: string | null
  readonly released: string | null
  readonly run_id: RunId
  readonly team: TeamName
}

/** The runs of a statement. */
interface Part {
  readonly accepts: ReadonlyArray<NewRun>
  readonly ends: ReadonlyArray<RunEnd>
  readonly releases: ReadonlyArray<RunEvent>
  readonly teams: ReadonlyArray<TeamName>
}

const nothing: Part = { accepts: [], ends: [], releases: [], teams: [] }

/**
 * `RunStore.step`. Its main statement ends and releases runs, writes accepted ones, and then admits: `webhook_trigger.admit`
 * sees all that, since it is called once the rows of those are there.
 */
export const makeStep = Effect.fnUntraced(function* (notifySoon: NotifySoon, { partOf, settle }: Ends) {
  const sql = yield* SqlClient.SqlClient
  const insert = yield* makeInsert
  const accept = yield* makeAccept(notifySoon)
  const storeContents = yield* makeStoreContents

  const textArray = (names: Iterable<string>) => sql`(select ${`{${[...names].join(",")}}`}::text[])::text[]`

  const statement = (
    { accepts, ends, releases, teams }: Part,
    { at, leaderless = [], led, limits, ...options }: StepOptions
  ) => {
    const withLeader = textArray(led)
    const inserted = insert(accepts, { ...options, at, slots: limits.total, led: withLeader })
    const ended = partOf(ends, releases)
    return bounded(sql<Row>`
      with ${ended.queries} ${inserted.queries} touched as materialized (
        select array(
          select unnest(${textArray(teams)}) union all ${inserted.teams} union all ${ended.teams}
        ) as teams, ${inserted.answers} as answers, ${ended.released} as released
          ${inserted.superseded ? sql`, (select count(*) from (${inserted.superseded}) as s) as superseded` : sql``}
      ), next as materialized (
        select (a.run).*, a.thread_report from touched, lateral webhook_trigger.admit(
          touched.teams, ${withLeader}, ${leaderless === "all others" ? sql`null::text[]` : textArray(leaderless)}, ${DateTime.toDateUtc(at)}::timestamptz, ${limits.total}::integer,
          ${JSON.stringify(Object.fromEntries(limits.webhooks))}::jsonb
        ) as a
      )
      select case when r.admitted_at is null then 'needs leader' else 'admitted' end as kind,
        null as answers, null as released, ${outColumns(sql, sql`r.thread_report`, ended.ended)}, ${runColumns}
      from next r left join webhook_trigger.webhooks w on w.id = r.webhook_id
      union all
      select 'ended', null, null, ${noOutColumns}, ${runColumns} from (${ended.ended}) as r
      ${
        inserted.superseded
          ? sql`union all select 'superseded', null, null, ${noOutColumns}, ${runColumns} from (${inserted.superseded}) as r`
          : sql``
      }
      union all
      select 'answers', answers, released, ${noOutColumns}, ${runColumns}
      from touched left join (select null::webhook_trigger.runs as none) as n on true, lateral (select (n.none).*) as r`)
  }
  return Effect.fnUntraced(function* (input: StepInput, options: StepOptions) {
    const admitted: Array<OutRun> = []
    const needLeader = new Set<TeamName>()
    const ended = new Map<RunId, Run>()
    const superseded: Array<Run> = []
    const perform = Effect.fnUntraced(function* (part: Part) {
      const rows = yield* statement(part, options)
      let inserted: ReadonlyArray<Inserted> = []
      for (const row of rows) {
        if (row.kind === "admitted") admitted.push(outRunFromRow(row))
        else if (row.kind === "needs leader") needLeader.add(row.team)
        else if (row.kind === "ended") ended.set(row.run_id, runFromRow(row))
        else if (row.kind === "superseded") superseded.push(runFromRow(row))
        else {
          if (row.answers !== null) inserted = JSON.parse(row.answers)
          const released = row.released?.split(" ") as ReadonlyArray<RunId> | undefined
          notifySoon(released?.map((run_id) => ({ _tag: "RunEnded", run_id })) ?? [])
        }
      }
      return inserted
    })

    const { accepts = [], ends = [], releases = [], teams = [] } = input
    if (accepts.some(({ files }) => files !== undefined)) yield* storeContents(accepts)
    const first = firstOfEach(ends)
    let left: Part = { ...nothing, ends: first, releases: firstOfEach(releases), teams }
    // Who waits for the lock of `singletons` must not hold rows of runs that its holder waits for.
    if (first.length + releases.length > 0 && accepts.some(isExclusive)) {
      yield* perform(left)
      left = nothing
    }
    const accepted = yield* accept(accepts, options.maxQueued, (runs) =>
      Effect.suspend(() => {
        const part = { ...left, accepts: runs }
        left = nothing
        return perform(part)
      })
    )
    if (left !== nothing) yield* perform(left)
    const won = new Set(first.filter(({ run_id }) => ended.has(run_id)))
    const over = ends.filter((end) => !won.has(end) && endsWork(end.outcome))
    const release = over.length === 0 ? Effect.void : perform({ ...nothing, releases: firstOfEach(over) })
    notifySoon(superseded.map(({ run_id }) => ({ _tag: "RunEnded", run_id })))
    const results = ends.length === 0 ? [] : yield* settle(ends, first, ended, release)
    return { accepted, ended: results, superseded, admitted, needLeader: [...needLeader] }
  }, whenTraced("RunStore.step"))
})
