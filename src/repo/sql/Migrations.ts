import { Migrator, SqlClient, type SqlError } from "@effect/sql"
import { Effect } from "effect"
import first from "./migrations/0001_first.ts"
import webhookVersion from "./migrations/0002_webhook_version.ts"

/** Numbered, only ever added to: a migration that has been released is never edited. */
const migrations = { "1_first": first, "2_webhook_version": webhookVersion }

/** Any number, the same in every process. */
const lock = 7_166_553_202_511

/**
 * Brings the database to this version's tables, in the schema `webhook_trigger`, all of it or nothing. Processes that start
 * at once take turns. `PostgresClient.layer` and `PgliteClient.layer` do it; with a `SqlClient` of your own, run it before
 * `RepoSql.layer`.
 */
export const migrate: Effect.Effect<void, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =
  Effect.gen(function* () {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    yield* Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(${lock}::bigint)`
      yield* sql`create schema if not exists webhook_trigger`
      // The migrator would create it, but checks for it in a way that ends a transaction.
      yield* sql`
        create table if not exists webhook_trigger.migrations (
          migration_id integer primary key,
          created_at timestamptz not null default now(),
          name text not null
        )`
      yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: "webhook_trigger.migrations" })
    }).pipe(sql.withTransaction, Effect.provideService(SqlClient.SqlClient, sql))
  })
