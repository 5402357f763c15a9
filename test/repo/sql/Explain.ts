/** What PostgreSQL reads for the statements of an effect. */
import { SqlClient, Statement } from "@effect/sql"
import { Effect, Layer } from "effect"

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
  const layer: Layer.Layer<never> = Statement.setTransformer((statement) =>
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

/** Runs a statement again, undoes it, and returns how it read the tables, and how many of their rows. */
export const readsOf = ([text, params]: Recorded, tables: ReadonlyArray<string> = ["runs"]) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql
      .unsafe<{ readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: Plan }> }>(
        `explain (analyze, format json) ${text}`,
        params
      )
      // The failure undoes the transaction, and carries the plan out of it.
      .pipe(Effect.flatMap(Effect.fail), sql.withTransaction, Effect.flip)
    if (!Array.isArray(rows)) return yield* Effect.die(rows)
    const scans = nodes(rows[0]!["QUERY PLAN"][0]!.Plan).filter(
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
