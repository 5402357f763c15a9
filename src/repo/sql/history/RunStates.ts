import { SqlClient } from "@effect/sql"
import { DateTime, Effect } from "effect"
import { type RunState, stateFields, toRunState } from "../../../domain/run/RunState.ts"
import type { StatesQuery } from "../../history/HistoryStore.ts"
import { fromRow, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { columnsOf, live } from "../RunColumns.ts"

/** `HistoryStore.states`: by the primary key, and from the ends of the lanes' indexes. */
export const makeStates = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = columnsOf(stateFields)
  return Effect.fn("HistoryStore.states")(function* ({ run_ids, teams, since, limit }: StatesQuery) {
    const rows = yield* sql`
      select ${columns} from webhook_trigger.runs r where r.id = any(array(
        select id from unnest(${uuids(sql, run_ids)}) as given(id)
        union
        select newest.id from json_array_elements_text(${JSON.stringify(teams)}::json) as t(team) cross join lateral (
          (
            select id, accepted_at from webhook_trigger.runs
            where team = t.team and status = 'queued' and admitted_at is null order by place desc limit ${limit}
          ) union all (
            select id, accepted_at from webhook_trigger.runs
            where team = t.team and status in ${live} and admitted_at is not null order by seq desc limit ${limit}
          )
        ) as newest where newest.accepted_at >= ${DateTime.toDateUtc(since)}
      ))
      order by r.seq`
    return rows.map((row): RunState => toRunState(fromRow(row, stateFields)))
  }, bounded)
})
