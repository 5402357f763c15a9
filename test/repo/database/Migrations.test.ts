/** The tables that the migrations create, and what happens when a database is brought from one version to the next. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { allStatuses, finalStatuses } from "../../../src/domain/run/RunStatus.ts"
import { WebhookRow } from "../../../src/domain/webhook/Webhook.ts"
import { migrate, migrateWith, migrations } from "../../../src/repo/database/Migrations.ts"
import * as PgliteClient from "../../../src/repo/database/PgliteClient.ts"
import * as PostgresClient from "../../../src/repo/database/PostgresClient.ts"
import { freshDatabase } from "../../support/fresh.ts"

/** The layers of both clients run the migrations when they are built. */
const databases = {
  PGlite: Layer.orDie(PgliteClient.layer()),
  PostgreSQL: Layer.orDie(
    Layer.unwrap(Effect.map(freshDatabase, (url) => PostgresClient.layer({ url: Redacted.make(url) })))
  )
}

const names = (query: (sql: SqlClient.SqlClient) => Effect.Effect<ReadonlyArray<{ readonly name: string }>, unknown>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.map(query(sql), (rows) => rows.map(({ name }) => name)))

const columnsOf = (table: string) =>
  names(
    (sql) => sql<{ readonly name: string }>`
      select column_name as name from information_schema.columns
      where table_schema = 'webhook_trigger' and table_name = ${table}`
  )

const applied = names(
  (sql) => sql<{ readonly name: string }>`select name from webhook_trigger.migrations order by migration_id`
)

/** The names of the migrations that there are. */
const released = Object.keys(migrations).map((name) => name.replace(/^\d+_/, ""))

/** A migration that exists for this test only. */
const next = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`alter table webhook_trigger.teams add column greeting text not null default 'hello'`
)

const broken = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`alter table webhook_trigger.no_such_table add column greeting text`
)

for (const [name, database] of Object.entries(databases)) {
  layer(database, { timeout: "120 seconds", excludeTestServices: true })(`migrations on ${name}`, (it) => {
    it.effect("create a column for every field of a webhook", () =>
      Effect.gen(function* () {
        expect((yield* columnsOf("webhooks")).toSorted()).toEqual(Object.keys(WebhookRow.fields).toSorted())
      })
    )

    it.effect("allow every status of a run", () =>
      Effect.gen(function* () {
        const checks = yield* names(
          (sql) => sql<{ readonly name: string }>`
            select pg_get_constraintdef(oid) as name from pg_constraint
            where conrelid = 'webhook_trigger.runs'::regclass and contype = 'c'`
        )
        const wordsOf = (check: string) => Array.from(check.matchAll(/'(\w+)'/g), ([, word]) => word!).toSorted()
        expect(checks.map(wordsOf)).toContainEqual(allStatuses.toSorted())
        expect(checks.map(wordsOf)).toContainEqual(finalStatuses.toSorted())
      })
    )

    it.effect("run once, each in its turn, and keep the rows", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`insert into webhook_trigger.teams (team, created_at) values ('kept', now())`
        yield* Effect.all([migrateWith({ ...migrations, "1001_greeting": next }), migrate], { concurrency: 2 })
        yield* migrateWith({ ...migrations, "1001_greeting": next })
        expect(yield* applied).toEqual([...released, "greeting"])
        expect(yield* sql`select team, greeting from webhook_trigger.teams`).toEqual([
          { team: "kept", greeting: "hello" }
        ])
      })
    )

    it.effect("change nothing when one of them fails", () =>
      Effect.gen(function* () {
        const another = Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`alter table webhook_trigger.teams add column farewell text`
        )
        const exit = yield* Effect.exit(
          migrateWith({ ...migrations, "1001_greeting": next, "1002_farewell": another, "1003_broken": broken })
        )
        expect(exit._tag).toBe("Failure")
        expect(yield* applied).toEqual([...released, "greeting"])
        expect(yield* columnsOf("teams")).not.toContain("farewell")
      })
    )
  })
}
