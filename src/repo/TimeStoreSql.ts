import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { bounded } from "./database/Database.ts"
import { TimeStore } from "./TimeStore.ts"

export const layer: Layer.Layer<TimeStore, never, SqlClient.SqlClient> = Layer.effect(
  TimeStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const read = sql<{ readonly now: number }>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`
    return TimeStore.of({
      databaseTime: Effect.map(bounded(read), ([row]) => row!.now).pipe(Effect.withSpan("TimeStore.databaseTime"))
    })
  })
)
