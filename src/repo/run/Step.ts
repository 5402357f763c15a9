import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { RunId } from "../../domain/Id.ts"
import { endsWork, type Run } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { jsonOf } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import type { NotifySoon } from "../database/NotifySoon.ts"
import { StepClient } from "../database/StepClient.ts"
import { runColumnsText, runFromRow } from "../RunColumns.ts"
import { makeAccept } from "./Accept.ts"
import { acceptInput, accepted as isAccepted, type RunResult } from "./AcceptInput.ts"
import { type makeEnds, toEnd } from "./Ends.ts"
import { makeStoreContents } from "./FileContents.ts"
import { outRunFromRow } from "./OutRuns.ts"
import { firstOfEach, type RunEnd, type RunEvent } from "./RunEnd.ts"
import type { NewRun, OutRun, StepInput, StepOptions } from "./RunStore.ts"
import { isExclusive } from "./Singletons.ts"

type Ends = Effect.Success<ReturnType<typeof makeEnds>>

interface Row {
  readonly kind: "answers" | "ended" | "superseded" | "admitted" | "needs leader"
  readonly answers: string | null
  readonly changed: string | null
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

const arrayOf = (names: Iterable<string>): string => `{${[...names].join(",")}}`

/** A call of the function `step`. It is the same text for all requests, and made once. */
const text = `
  select s.kind, s.answers, s.changed, s.webhook, s.thread_report, s.thread_history, r.layout, ${runColumnsText}
  from webhook_trigger.step(
    $1::json, $2::json, $3::json, $4::uuid[], $5::text[], $6::text[], $7::json, $8::json, $9::uuid[],
    $10::text[], $11::text[], $12::text[], $13::timestamptz, $14::integer, $15::jsonb, $16::integer, $17::boolean
  ) as s, lateral (select (s.run).*) as r`

/** `RunStore.step`. */
export const makeStep = Effect.fnUntraced(function* (notifySoon: NotifySoon, { settle }: Ends) {
  const sql = (yield* StepClient) ?? (yield* SqlClient.SqlClient)
  const accept = yield* makeAccept(notifySoon)
  const storeContents = yield* makeStoreContents

  const statement = (
    { accepts, ends, releases, teams }: Part,
    { at, leaderless = [], led, limits, ...options }: StepOptions
  ) => {
    const { countQueued = true, maxQueued } = options
    const input = acceptInput(accepts, options)
    const ending = [...ends, ...releases]
    const parameters = [
      input.checks,
      input.rows,
      input.files,
      arrayOf(input.hooks),
      arrayOf(input.lanes),
      arrayOf(input.features),
      ends.length === 0 ? null : jsonOf(ends.map(toEnd)),
      releases.length === 0 ? null : jsonOf(releases.map(({ at, run_id }) => ({ run_id, at }))),
      ending.length === 0 ? null : arrayOf(ending.map(({ run_id }) => run_id)),
      arrayOf(teams),
      arrayOf(led),
      leaderless === "all others" ? null : arrayOf(leaderless),
      DateTime.toDateUtc(at),
      limits.total,
      JSON.stringify(Object.fromEntries(limits.webhooks)),
      maxQueued,
      countQueued
    ]
    return bounded(sql.unsafe<Row>(text, parameters))
  }

  return Effect.fnUntraced(function* (input: StepInput, options: StepOptions) {
    const admitted: Array<OutRun> = []
    const needLeader = new Set<TeamName>()
    const ended = new Map<RunId, Run>()
    const superseded: Array<Run> = []
    const perform = Effect.fnUntraced(function* (part: Part) {
      const rows = yield* statement(part, options)
      let results: ReadonlyArray<RunResult> | undefined
      for (const row of rows) {
        if (row.kind === "admitted") admitted.push(outRunFromRow(row))
        else if (row.kind === "needs leader") needLeader.add(row.team)
        else if (row.kind === "ended") ended.set(row.run_id, runFromRow(row))
        else if (row.kind === "superseded") superseded.push(runFromRow(row))
        else {
          if (row.answers !== null) results = JSON.parse(row.answers)
          const changed = (row.changed || undefined)?.split(" ") as ReadonlyArray<RunId> | undefined
          notifySoon(changed?.map((run_id) => ({ _tag: "RunEnded", run_id })) ?? [])
        }
      }
      return results ?? part.accepts.map(() => isAccepted)
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
