/** What only PostgreSQL shows of deliveries: how many rows a claim reads, and what another transaction cannot see. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as PostgresClient from "../../../src/repo/database/PostgresClient.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import * as RepoSql from "../../../src/repo/RepoSql.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { attemptAt, claim, deliveriesOf, endRun, newDestination, recorded } from "../contract/delivery/fixtures.ts"
import { at, createWebhook, sendRun } from "../contract/fixtures.ts"
import { readsOf, recording } from "../Explain.ts"

const recorder = recording()
const client = Layer.unwrap(
  Effect.map(freshDatabase, (url) => PostgresClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
)
/** A database of its own for each test: they count rows, and claim what they find. */
const layer = RepoSql.layer.pipe(Layer.provideMerge(client), Layer.provideMerge(recorder.layer))

/** This many copies of one row, each with its own ID by a number from `first`. */
const copies = (table: string, count: number, first = 1) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(
      `insert into webhook_trigger.${table} overriding user value
       select copy.* from (select * from webhook_trigger.${table} limit 1) as t, generate_series(${first}, ${first + count - 1}) as n,
         json_populate_record(
           null::webhook_trigger.${table}, (to_jsonb(t) || jsonb_build_object('id', md5(t.id::text || n)))::json
         ) as copy`
    )
  )

describe("deliveries on PostgreSQL", () => {
  it.live("are claimed without a look at destinations that wait for nothing, or at all that wait for one", () =>
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const busy = yield* newDestination(webhook.id)
      yield* endRun(webhook, 100)
      yield* copies("deliveries", 5_000)
      yield* newDestination(webhook.id)
      yield* endRun(webhook, 200)
      yield* copies("destinations", 5_000)
      yield* (yield* SqlClient.SqlClient)`analyze webhook_trigger.destinations, webhook_trigger.deliveries`
      const statements = yield* recorder.of(claim(1_000))
      const [claiming] = statements
      const { rows, scans } = yield* readsOf(claiming!, ["destinations", "deliveries"])
      expect(scans).not.toContain("Seq Scan")
      expect(rows).toBeLessThan(100)
      const next = yield* claim(1_000)
      expect(next.map(({ destination }) => destination.id)).toEqual(Array(10).fill(busy.id))
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "of starts are looked for without a look at destinations that do not want them, or at runs that have ended",
    () =>
      Effect.gen(function* () {
        const repo = yield* Repo
        const webhook = yield* createWebhook()
        yield* newDestination(webhook.id)
        yield* copies("destinations", 5_000, 10_000)
        yield* endRun(webhook, 100)
        yield* copies("runs", 5_000)
        yield* newDestination(webhook.id, { events: ["run.started"] })
        yield* sendRun(webhook, 50)
        yield* (yield* SqlClient.SqlClient)`analyze webhook_trigger.destinations, webhook_trigger.runs`
        for (const look of [Effect.asVoid(repo.claimTick(at(200), false)), Effect.asVoid(repo.deliverEarly(at(200)))]) {
          const [statement] = yield* recorder.of(look)
          const { rows, scans } = yield* readsOf(statement!, ["destinations", "runs"])
          expect(scans).not.toContain("Seq Scan")
          expect(rows).toBeLessThan(10)
        }
      }).pipe(Effect.provide(layer))
  )

  it.live("with buttons are looked for among the recent messages that have them", () =>
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      yield* newDestination(webhook.id)
      const written = { message: { id: "C1/1.1", thread: "C1/1.1" }, hasButtons: true }
      const write = Effect.fnUntraced(function* (ms: number) {
        yield* endRun(webhook, ms)
        yield* recorded((yield* claim(ms))[0]!, attemptAt(ms), "delivered", written)
      })
      yield* write(100)
      yield* copies("runs", 5_000)
      yield* copies("deliveries", 5_000)
      yield* write(300)
      const sql = yield* SqlClient.SqlClient
      yield* sql`analyze webhook_trigger.runs, webhook_trigger.deliveries`
      const [statement] = yield* recorder.of(repo.endButtons(at(200), at(400)))
      const { rows, scans } = yield* readsOf(statement!, ["runs", "deliveries"])
      expect(scans).not.toContain("Seq Scan")
      expect(rows).toBeLessThan(100)
    }).pipe(Effect.provide(layer))
  )

  it.live("of a destination that was switched off as their run ended fail with the next claim", () =>
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      yield* newDestination(webhook.id)
      yield* endRun(webhook, 100)
      const sql = yield* SqlClient.SqlClient
      // As an edit that does not see the delivery yet.
      yield* sql`update webhook_trigger.destinations set enabled = false where webhook_id = ${webhook.id}`
      yield* claim(1_000)
      expect((yield* deliveriesOf(webhook.id)).map(({ status }) => status)).toEqual(["failed"])
    }).pipe(Effect.provide(layer))
  )

  it.live("of a shared comment wait while another server claims the one before", () =>
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const { id } = yield* newDestination(webhook.id, { kind: "github", target: "acme/shop#7" })
      const [first] = yield* Effect.forEach([100, 200], (ms) => endRun(webhook, ms))
      const sql = yield* SqlClient.SqlClient
      const [isLocked, mayEnd] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
      const lock = sql`
        select id from webhook_trigger.deliveries where destination_id = ${id} order by seq limit 1 for update`
      const other = yield* sql`set local idle_in_transaction_session_timeout = 0`.pipe(
        Effect.andThen(lock),
        Effect.andThen(Deferred.succeed(isLocked, undefined)),
        Effect.andThen(Deferred.await(mayEnd)),
        sql.withTransaction,
        Effect.forkChild
      )
      yield* Deferred.await(isLocked)
      const ofThis = Effect.map(claim(1_000), (claims) => claims.filter(({ destination }) => destination.id === id))
      expect(yield* ofThis).toEqual([])
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(other)
      expect((yield* ofThis).map(({ run }) => run?.run_id)).toEqual([first])
    }).pipe(Effect.provide(layer))
  )
})
