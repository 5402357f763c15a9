/** Statements are planned once for each connection, also those of a server whose tables are empty when it starts. */
import { expect, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as PgliteClient from "../../../src/repo/database/PgliteClient.ts"
import * as PostgresClient from "../../../src/repo/database/PostgresClient.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import * as RepoSql from "../../../src/repo/RepoSql.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { at, createWebhook, newRun, ops, outIds, step, success, type Target } from "../contract/fixtures.ts"

const backlog = 5_000

/** The way of a run from its acceptance to its end, which admits the first one of the backlog, if there is one. */
const pass = (webhook: Target) =>
  Effect.gen(function* () {
    const { sent } = yield* Repo
    // The engine has counted the queue before, and it is far from full.
    yield* step({ accepts: [yield* newRun(webhook)] }, { countQueued: false })
    const [id] = yield* outIds
    yield* sent([{ run_id: id!, at: at(1) }])
    yield* step({ ends: [{ run_id: id!, outcome: success("done"), at: at(2) }] })
  })

/** Rows of `runs` that were read so far, and entries of its indexes. */
const reads = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`select pg_stat_force_next_flush()`
  const [row] = yield* sql<{ readonly count: number }>`
    select (
      (select seq_tup_read from pg_stat_user_tables where relname = 'runs')
      + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'runs')
    )::int as count`
  return row!.count
})

const test = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const webhook = yield* createWebhook()
  for (let n = 0; n < 12; n++) yield* pass(webhook)
  yield* sql`
    insert into webhook_trigger.runs (id, source, webhook_id, team, mode, status, prompt, variables, timeout_ms, accepted_at)
    select gen_random_uuid(), 'webhook', ${webhook.id}, ${ops}, 'async', 'queued', 'x', '{}', 60000,
      ${DateTime.toDateUtc(at(3))}::timestamptz
    from generate_series(1, ${backlog}::int)`
  const before = yield* reads
  yield* pass(webhook)
  expect((yield* reads) - before).toBeLessThan(200)
  const [settings] = yield* sql<{ readonly prepared: number; readonly texts: number }>`
    select count(*)::int as prepared, count(distinct statement)::int as texts from pg_prepared_statements`
  // The step, and what marks a run as sent, among others.
  expect(settings!.prepared).toBeGreaterThanOrEqual(2)
  expect(settings!.prepared).toBe(settings!.texts)
})

const onPostgres = Layer.unwrap(
  Effect.map(freshDatabase, (url) => PostgresClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
)

const cases = { PostgreSQL: Layer.orDie(onPostgres), PGlite: Layer.orDie(PgliteClient.layer()) }

for (const [name, client] of Object.entries(cases)) {
  it.live(`reads a few rows of a table that has grown since its statements were planned, on ${name}`, () =>
    test.pipe(Effect.provide(RepoSql.layer.pipe(Layer.provideMerge(client))))
  )
}

const forgets = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ask = (n: number) => sql.unsafe<{ readonly one: number }>(`select $1::int + ${n} as one`, [1])
  const askOften = (n: number) => Effect.repeat(ask(n), { times: 4 })
  for (let n = 0; n < 300; n++) expect(yield* askOften(n)).toEqual([{ one: n + 1 }])
  const [row] = yield* sql<{ readonly prepared: number; readonly oldest: number }>`
    select count(*)::int as prepared, count(*) filter (where statement = ${"select $1::int + 0 as one"})::int as oldest
    from pg_prepared_statements`
  expect(row!.prepared).toBeGreaterThan(50)
  expect(row!.prepared).toBeLessThanOrEqual(101)
  expect(row!.oldest).toBe(0)
  // Those that were forgotten can be used again.
  for (let n = 0; n < 300; n += 7) expect(yield* askOften(n)).toEqual([{ one: n + 1 }])
})

for (const [name, client] of Object.entries(cases)) {
  it.live(`forgets the least recently used ones, on ${name}`, () => forgets.pipe(Effect.provide(client)))
}
