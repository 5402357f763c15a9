/** Idempotency keys, as a part of `RunStore.accept`. */
import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { RunRow } from "../../domain/run/Run.ts"
import { fromRow, recordset, runIds } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { runColumns, runFromRow } from "../RunColumns.ts"
import type { NewRun } from "./RunStore.ts"

/** The input by which an earlier run is found. */
const keyTypes = {
  ord: "int",
  webhook_id: "uuid",
  team: "text",
  idempotency_key: "text",
  accepted_at: "timestamptz"
} as const

const toKey = ({ accepted_at, idempotency, team, webhook }: NewRun, ord: number) => ({
  ord,
  webhook_id: webhook?.id,
  team,
  idempotency_key: idempotency?.key,
  accepted_at
})

const isKeyedTrigger = ({ idempotency, webhook }: NewRun) => idempotency !== undefined && webhook !== undefined
const isKeyedMessage = ({ idempotency, webhook }: NewRun) => idempotency !== undefined && webhook === undefined

interface EarlierRow {
  readonly ord: number
  readonly run_id: string
  readonly deadline_at: RunRow["deadline_at"]
  readonly request_hash: Uint8Array
  readonly expired: boolean
}

export const makeKeys = Effect.map(SqlClient.SqlClient, (sql) => {
  /** A run `r` that the key of an input `i` names: a run of its webhook, or a message of its team. */
  const namedByTrigger = sql`r.webhook_id = i.webhook_id and r.idempotency_key = i.idempotency_key`
  const namedByMessage = sql`
    i.webhook_id is null and r.webhook_id is null and r.team = i.team and r.idempotency_key = i.idempotency_key`

  /** The runs that their keys named before, by their places in `runs`. */
  const findEarlier = (runs: ReadonlyArray<NewRun>) => {
    const find = (isNamed: Statement.Fragment) =>
      bounded(sql`
        select i.ord, ${runColumns}, r.request_hash, r.idempotency_expires_at <= i.accepted_at as expired
        from ${recordset(sql, keyTypes, runs.map(toKey))}
        join webhook_trigger.runs r on ${isNamed}`)
    const kinds = [
      ...(runs.some(isKeyedTrigger) ? [namedByTrigger] : []),
      ...(runs.some(isKeyedMessage) ? [namedByMessage] : [])
    ]
    return Effect.map(Effect.forEach(kinds, find), (found) =>
      found.flat().map((row) => ({ ...fromRow<EarlierRow>(row), run: runFromRow(row) }))
    )
  }

  /** The keys are free again; their runs stay. */
  const free = (rows: ReadonlyArray<EarlierRow>) =>
    bounded(sql`
      update webhook_trigger.runs set idempotency_key = null
      where id = any(${runIds(sql, rows)})`)

  return { findEarlier, free }
})

/** The run that a key named before. */
export type EarlierRun = Effect.Success<ReturnType<Effect.Success<typeof makeKeys>["findEarlier"]>>[number]
