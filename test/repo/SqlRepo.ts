/** One SQL repo for a whole file, emptied before each test: creating a database takes longer than most tests. */
import { SqlClient } from "@effect/sql"
import { afterAll, beforeAll } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime } from "effect"
import type { WithRepo } from "../../src/repo/contract/RepoContract.ts"
import type { Notifications } from "../../src/repo/sql/Notifications.ts"
import * as RepoSql from "../../src/repo/sql/RepoSql.ts"

const empty = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    truncate webhook_trigger.teams, webhook_trigger.webhooks, webhook_trigger.runs, webhook_trigger.secrets,
      webhook_trigger.run_counts, webhook_trigger.run_durations, webhook_trigger.run_count_changes,
      webhook_trigger.lane_counts, webhook_trigger.webhook_rates, webhook_trigger.sessions, webhook_trigger.audit_events,
      webhook_trigger.requests, webhook_trigger.windows, webhook_trigger.window_deliveries,
      webhook_trigger.webhook_templates`
  yield* sql`
    update webhook_trigger.run_counts_state set hours_from = '-infinity', days_from = '-infinity', uncounted_before = null`
  yield* sql`update webhook_trigger.dispatcher_lease set holder = null, expires_at = null`
})

export const withSqlRepo = <E>(client: Layer.Layer<SqlClient.SqlClient | Notifications, E>): WithRepo => {
  const runtime = ManagedRuntime.make(RepoSql.layer.pipe(Layer.provideMerge(client)))
  beforeAll(() => runtime.runPromise(Effect.void), 120_000)
  afterAll(() => runtime.dispose())

  return (test) =>
    Effect.flatMap(Effect.orDie(runtime.runtimeEffect), (context) =>
      Effect.zipRight(Effect.orDie(empty), test).pipe(Effect.scoped, Effect.provide(context))
    )
}
