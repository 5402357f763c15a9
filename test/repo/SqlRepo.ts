/** One SQL repo for a whole file, emptied before each test: creating a database takes longer than most tests. */
import { afterAll, beforeAll } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import type { Notifications } from "../../src/repo/database/Notifications.ts"
import { makeRestore } from "../../src/repo/database/TestDatabase.ts"
import * as RepoSql from "../../src/repo/RepoSql.ts"
import type { WithRepo } from "./contract/RepoContract.ts"

const prepare = Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(makeRestore))

const emptied = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select testing.restore()`)

export const withSqlRepo = <E>(client: Layer.Layer<SqlClient.SqlClient | Notifications, E>): WithRepo => {
  const runtime = ManagedRuntime.make(RepoSql.layer.pipe(Layer.provideMerge(client)))
  beforeAll(() => runtime.runPromise(prepare))
  afterAll(() => runtime.dispose())

  return (test) =>
    Effect.flatMap(Effect.orDie(runtime.contextEffect), (context) =>
      Effect.andThen(Effect.orDie(emptied), test).pipe(Effect.scoped, Effect.provide(context))
    )
}
