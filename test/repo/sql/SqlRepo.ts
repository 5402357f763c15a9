/** One SQL repo for a whole file, emptied before each test: creating a database takes longer than most tests. */
import { SqlClient } from "@effect/sql"
import { afterAll, beforeAll } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime } from "effect"
import type { Notifications } from "../../../src/repo/sql/database/Notifications.ts"
import * as RepoSql from "../../../src/repo/sql/RepoSql.ts"
import type { WithRepo } from "../contract/RepoContract.ts"

const tables = [
  ...["teams", "webhooks", "runs", "run_files", "secrets", "run_counts", "run_durations"],
  ...[
    "webhook_rates",
    "sessions",
    "audit_events",
    "requests",
    "ignored_counts",
    "windows",
    "window_requests",
    "window_deliveries",
    "cancel_events",
    "webhook_templates"
  ],
  ...["run_usage"],
  ...["lanes", "leader_keys", "api_keys", "http_leaders", "threads", "destinations", "deliveries"]
]

/** Deletes, without triggers and in any order: `truncate` gives every table and index new files, for 50 times as long. */
const empty = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`set local session_replication_role = replica`
  for (const table of tables) yield* sql`delete from ${sql(`webhook_trigger.${table}`)}`
  yield* sql`
    update webhook_trigger.run_counts_state set counted_to = '-infinity', hours_from = '-infinity', days_from = '-infinity'`
  yield* sql`update webhook_trigger.ticks set ticked_at = '-infinity'`
})

const emptied = Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(empty))

export const withSqlRepo = <E>(client: Layer.Layer<SqlClient.SqlClient | Notifications, E>): WithRepo => {
  const runtime = ManagedRuntime.make(RepoSql.layer.pipe(Layer.provideMerge(client)))
  beforeAll(() => runtime.runPromise(Effect.void))
  afterAll(() => runtime.dispose())

  return (test) =>
    Effect.flatMap(Effect.orDie(runtime.runtimeEffect), (context) =>
      Effect.zipRight(Effect.orDie(emptied), test).pipe(Effect.scoped, Effect.provide(context))
    )
}
