/** One SQL `Repo` for a whole file, emptied before each test: making a database takes longer than most tests. */

import { SqlClient } from "@effect/sql"
import { afterAll, beforeAll } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime, type Scope } from "effect"
import { Repo } from "../../src/repo/Repo.ts"
import type { Notifications } from "../../src/repo/sql/Database.ts"
import * as RepoSql from "../../src/repo/sql/RepoSql.ts"
import type { WithRepo } from "./contract.ts"

const empty = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`truncate webhook_trigger.teams, webhook_trigger.webhooks, webhook_trigger.runs, webhook_trigger.secrets`
  yield* sql`update webhook_trigger.dispatcher_lease set holder = null, expires_at = null`
})

export const sqlRepo = <E>(client: Layer.Layer<SqlClient.SqlClient | Notifications, E>) => {
  const runtime = ManagedRuntime.make(RepoSql.layer.pipe(Layer.provideMerge(client)))
  beforeAll(() => runtime.runPromise(Effect.void), 120_000)
  afterAll(() => runtime.dispose())

  const withSql = <A, E2>(test: Effect.Effect<A, E2, Repo | SqlClient.SqlClient | Scope.Scope>) =>
    Effect.flatMap(Effect.orDie(runtime.runtimeEffect), (context) =>
      Effect.zipRight(Effect.orDie(empty), test).pipe(Effect.scoped, Effect.provide(context))
    )
  const withRepo: WithRepo = withSql
  return { withRepo, withSql }
}
