/** A reachable database that refuses writes. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Unavailable } from "../../../src/domain/Errors.ts"
import * as PgliteClient from "../../../src/repo/database/PgliteClient.ts"
import * as PostgresClient from "../../../src/repo/database/PostgresClient.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import * as RepoSql from "../../../src/repo/RepoSql.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { repeatUntil } from "../../support/Until.ts"
import { acceptOne, count, createWebhook, newRun } from "../contract/fixtures.ts"

const clients: Readonly<Record<string, Layer.Layer<SqlClient.SqlClient | RepoSql.Notifications, unknown>>> = {
  PostgreSQL: Layer.unwrap(
    Effect.map(freshDatabase, (url) => PostgresClient.layer({ url: Redacted.make(url), maxConnections: 3 }))
  ),
  PGlite: PgliteClient.layer()
}

/** The lines about writes, with their levels: a busy machine may have others, for instance about notifications. */
const logged = (lines: Array<string>) =>
  Logger.layer([
    Logger.make(({ logLevel, message }) => {
      if (String(message).includes("writes")) lines.push(`${logLevel.toUpperCase()} ${message}`)
    })
  ])

describe.each(Object.entries(clients))("%s without room on its disk", (_, client) => {
  it.live("is one line in the log, with the cause, and one when it has room again", () => {
    const lines: Array<string> = []
    return Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const webhook = yield* createWebhook()
      yield* sql`
          create function fill_disk() returns trigger language plpgsql as $$ begin
            raise exception 'could not extend file "base/1/2": No space left on device' using errcode = '53100';
          end $$`
      yield* sql`create trigger full_disk before insert on webhook_trigger.runs execute function fill_disk()`
      const repo = yield* Repo
      for (const _ of count(10)) {
        expect(yield* Effect.flip(acceptOne(yield* newRun(webhook)))).toBeInstanceOf(Unavailable)
        yield* repo.webhook(webhook.id)
      }
      expect(lines).toEqual([
        'ERROR The database refuses writes, because its disk is full (53100: could not extend file "base/1/2": No space left on device)'
      ])
      yield* sql`drop trigger full_disk on webhook_trigger.runs`
      const accepted = Effect.flatMap(newRun(webhook), acceptOne)
      yield* repeatUntil(accepted, () => lines.length > 1)
      yield* accepted
      expect(lines.slice(1)).toEqual(["INFO The database accepts writes again"])
    }).pipe(Effect.provide(RepoSql.layer.pipe(Layer.provideMerge(client))), Effect.provide(logged(lines)))
  })
})
