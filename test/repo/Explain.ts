/** What PostgreSQL reads for the statements of an effect. */
import { Effect, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"

type Recorded = readonly [sql: string, params: ReadonlyArray<unknown>]

interface Plan {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number
  readonly Plans?: ReadonlyArray<Plan>
}

/** A layer under which every statement is recorded, in whichever fiber it runs. */
export const recording = () => {
  const statements: Array<Recorded> = []
  const layer = Layer.succeed(Statement.CurrentTransformer, (statement) =>
    Effect.sync(() => {
      statements.push(statement.compile())
      return statement
    })
  )
  /** The statements that `effect` has run. */
  const of = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      statements.length = 0
      return Effect.map(effect, () => [...statements])
    })
  return { layer, of }
}

const nodes = (plan: Plan): ReadonlyArray<Plan> => [plan, ...(plan.Plans ?? []).flatMap(nodes)]

/** What this session has read of the tables so far, and has not reported yet: also within functions, whose plans are not shown. */
const readSoFar = (tables: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly scans: number; readonly rows: number }>`
      select sum(pg_stat_get_xact_numscans(c.oid))::int as scans, sum(
        pg_stat_get_xact_tuples_returned(c.oid) + (
          select coalesce(sum(pg_stat_get_xact_tuples_returned(i.indexrelid)), 0) from pg_index i where i.indrelid = c.oid
        )
      )::int as rows
      from pg_class c
      where c.relnamespace = 'webhook_trigger'::regnamespace and c.relname in ${sql.in(tables)}`
    return row!
  })

/** Runs a statement again, undoes it, and returns how it read the tables, and how many of their rows. */
export const readsOf = ([text, params]: Recorded, tables: ReadonlyArray<string> = ["runs"]) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const explained = Effect.gen(function* () {
      const before = yield* readSoFar(tables)
      const [row] = yield* sql.unsafe<{ readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: Plan }> }>(
        `explain (analyze, format json) ${text}`,
        params
      )
      const after = yield* readSoFar(tables)
      return { plan: row!["QUERY PLAN"][0]!.Plan, scans: after.scans - before.scans, rows: after.rows - before.rows }
    })
    // The failure undoes the transaction, and carries the plan out of it.
    const done = yield* explained.pipe(Effect.flatMap(Effect.fail), sql.withTransaction, Effect.flip)
    if (!("plan" in done)) return yield* Effect.die(done)
    if (text.includes("webhook_trigger.step(")) return { scans: done.scans > 0 ? ["Seq Scan"] : [], rows: done.rows }
    const scans = nodes(done.plan).filter(
      (node) => tables.includes(node["Relation Name"] ?? "") && node["Node Type"].includes("Scan")
    )
    return {
      scans: scans.map((node) => node["Node Type"]),
      rows: scans.reduce(
        (sum, node) => sum + node["Actual Loops"] * (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)),
        0
      )
    }
  })
