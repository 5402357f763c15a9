import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { bounded } from "./database/Database.ts"

/** The database's clock, the same for all servers. */
export class TimeStore extends Context.Service<TimeStore>()("webhook-trigger/TimeStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const read = sql<{ readonly now: number }>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`
    return {
      /** Milliseconds since the epoch, at some moment during this call. */
      databaseTime: Effect.map(bounded(read), ([row]) => row!.now).pipe(Effect.withSpan("TimeStore.databaseTime"))
    }
  })
}) {
  static readonly layer = Layer.effect(TimeStore, TimeStore.make)
}
