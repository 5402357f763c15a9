import { Effect } from "effect"
import { Migrator, SqlClient, type SqlError } from "effect/sql"
import schema from "../migrations/0001_schema.ts"

/** Migrations by number and name, such as `2_run_labels`. */
type Migrations = Parameters<typeof Migrator.fromRecord>[0]

/** Numbered. A released migration is never edited; only new ones are added. */
export const migrations: Migrations = { "1_schema": schema }

/** An arbitrary number, the same in every process. */
const lock = 7_166_553_202_511

/** Runs the pending migrations, all or none. Processes that start at once take turns. */
export const migrateWith = (
  all: Migrations
): Effect.Effect<void, Migrator.MigrationError | SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    yield* Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(${lock}::bigint)`
      yield* sql`create schema if not exists webhook_trigger`
      // The migrator would create it, but its check ends a transaction.
      yield* sql`
        create table if not exists webhook_trigger.migrations (
          migration_id integer primary key,
          created_at timestamptz not null default now(),
          name text not null
        )`
      yield* Migrator.make({})({ loader: Migrator.fromRecord(all), table: "webhook_trigger.migrations" })
    }).pipe(sql.withTransaction, Effect.provideService(SqlClient.SqlClient, sql))
  })

/**
 * Migrates the database, in the schema `webhook_trigger`. `PostgresClient.layer` and `PgliteClient.layer` do it; with a
 * `SqlClient` of your own, run it before `RepoSql.layer`.
 */
export const migrate = migrateWith(migrations)
