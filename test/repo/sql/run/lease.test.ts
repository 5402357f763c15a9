import { SqlClient } from "@effect/sql"
import { PgClient } from "@effect/sql-pg"
import { describe, expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Either, Exit, Fiber, Layer, Option, Redacted, Scope } from "effect"
import pg from "pg"
import { LeaseLost } from "../../../../src/repo/run/LeaseStore.ts"
import * as PostgresClient from "../../../../src/repo/sql/database/PostgresClient.ts"
import { openSession } from "../../../../src/repo/sql/database/PostgresSession.ts"
import { lockClass, SessionLocks } from "../../../../src/repo/sql/database/SessionLocks.ts"
import * as RepoSql from "../../../../src/repo/sql/RepoSql.ts"
import { freshDatabase } from "../../../support/fresh.ts"
import { queryPostgres } from "../../../support/Postgres.ts"
import { privatePostgres } from "../../../support/private.ts"
import { repeatUntil } from "../../../support/Until.ts"
import { acquireTerm, admitOne, at, createWebhook, minute, queueRun } from "../../contract/fixtures.ts"
import { eventually, leaseWithLock, replicaOf, replicaWith } from "../Replica.ts"

describe("replicas on one database", () => {
  it.scopedLive("hand the lease over only when what its holder was about to do is done, and seen", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const [a, b] = [yield* replicaOf(url), yield* replicaOf(url)]
      const webhook = yield* a.use(createWebhook())
      const id = yield* a.use(queueRun(webhook))
      const term = yield* a.use(acquireTerm)
      const context = yield* Layer.build(PostgresClient.layer({ url: Redacted.make(url) }))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const waiting = Effect.map(
          sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          (rows) => rows.length
        )
        const [locked, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const locker = yield* sql`select 1 from webhook_trigger.runs where id = ${id} for update`.pipe(
          Effect.zipRight(Deferred.succeed(locked, undefined)),
          Effect.zipRight(Deferred.await(release)),
          sql.withTransaction,
          Effect.fork
        )
        yield* Deferred.await(locked)
        const admitted = yield* Effect.fork(Effect.either(a.admit([{ run_id: id, at: at(0) }], term, at(0))))
        yield* repeatUntil(waiting, (n) => n === 1)
        const seen = yield* Effect.fork(
          Effect.gen(function* () {
            yield* b.releaseLease(term)
            yield* b.use(acquireTerm)
            return (yield* b.inFlight).some((run) => run.run_id === id)
          })
        )
        yield* Effect.raceFirst(
          Fiber.await(seen),
          repeatUntil(waiting, (n) => n === 2)
        )
        yield* Deferred.succeed(release, undefined)
        yield* locker.await
        expect(yield* Fiber.join(seen)).toBe(Either.isRight(yield* Fiber.join(admitted)))
      }).pipe(Effect.provide(context))
    })
  )

  it.scopedLive("take the lease at once when its holder's process has ended, and fence that off", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const scope = yield* Scope.make()
      const [a, b] = [yield* Scope.extend(replicaOf(url), scope), yield* replicaOf(url)]
      const id = yield* b.use(Effect.flatMap(createWebhook(), queueRun))
      const term = yield* leaseWithLock(a, scope)
      expect(yield* b.acquireLease("b", minute)).toEqual(Option.none())
      // Those who are not to take it yet do not take it for its lock either.
      yield* Scope.close(scope, Exit.void)
      expect(yield* b.acquireLease("b", minute, minute)).toEqual(Option.none())
      expect(yield* b.acquireLease("b", minute)).toEqual(Option.some(term + 1))
      expect(yield* Effect.flip(b.use(admitOne(id, term)))).toBeInstanceOf(LeaseLost)
    })
  )

  it.scopedLive("take the lease at once when its holder's session has ended, unless that has renewed it since", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const [a, b] = [yield* replicaOf(url), yield* replicaOf(url)]
      const term = Option.getOrThrow(yield* a.acquireLease("a", minute))
      const lock = yield* a.lockForProcess(term)
      yield* a.renewLease(term, minute, lock)
      const ofLock = (what: string) =>
        Effect.promise(() =>
          queryPostgres(
            url,
            `select ${what} from pg_locks where locktype = 'advisory' and granted
             and database = (select oid from pg_database where datname = current_database())`
          )
        )
      const cut = ofLock("pg_terminate_backend(pid, 10000)")
      yield* cut
      yield* a.renewLease(term, minute, { ...lock, isHeld: () => false })
      expect(yield* b.acquireLease("b", minute)).toEqual(Option.none())
      // The next session has the lock, and the process knows.
      yield* repeatUntil(ofLock("pid"), (rows) => rows.length === 1)
      yield* repeatUntil(Effect.sync(lock.isHeld), (isHeld) => isHeld)
      yield* a.renewLease(term, minute, lock)
      expect(yield* b.acquireLease("b", minute)).toEqual(Option.none())
      yield* cut
      expect(yield* b.acquireLease("b", minute)).toEqual(Option.some(term + 1))
    })
  )

  it.scopedLive("wait for the lease where they share the holder's session, and so have its lock as well", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* replicaOf(url)
      // As behind PgBouncer: any process may get any session.
      const client = yield* Layer.build(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
      const sql = Context.get(client, SqlClient.SqlClient)
      const hold = (id: number) =>
        Effect.as(Effect.orDie(sql`select pg_advisory_lock(${sql.literal(`${lockClass}, ${id}`)})`), () => true)
      const repo = yield* replicaWith(
        RepoSql.layer.pipe(
          Layer.provide(Layer.merge(RepoSql.Notifications.layerPolling, Layer.succeed(SessionLocks, { hold }))),
          Layer.provide(Layer.succeed(SqlClient.SqlClient, sql))
        )
      )
      const term = Option.getOrThrow(yield* repo.acquireLease("a", minute))
      yield* repo.renewLease(term, minute, yield* repo.lockForProcess(term))
      expect(yield* repo.acquireLease("b", minute)).toEqual(Option.none())
    })
  )

  it.scopedLive("give back a lock for good, also one whose answer was late", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const late = yield* Deferred.make<void>()
      const probed = yield* Deferred.make<void>()
      let attempts = 0
      const connect = () => {
        const client = new pg.Client(url)
        const query = client.query.bind(client) as (sql: string) => Promise<pg.QueryResult>
        const observed = async (sql: string) => {
          const result = await query(sql)
          if (sql.includes("try_advisory") && ++attempts === 1) await Effect.runPromise(Deferred.await(late))
          if (attempts > 0 && sql.includes("read_only")) Deferred.unsafeDone(probed, Exit.void)
          return result
        }
        return Object.assign(client, { query: observed })
      }
      const session = yield* openSession(connect)
      const process = yield* Scope.make()
      const isHeld = yield* Scope.extend(session.hold(1), process)
      yield* Deferred.await(probed)
      yield* Deferred.succeed(late, undefined)
      yield* repeatUntil(Effect.sync(isHeld), (isHeld) => isHeld)
      yield* Scope.close(process, Exit.void)
      const locks = yield* Effect.promise(() =>
        queryPostgres(
          url,
          `select 1 from pg_locks where locktype = 'advisory' and classid = ${lockClass} and objid = 1
           and database = (select oid from pg_database where datname = current_database())`
        )
      )
      expect(locks).toEqual([])
    })
  )
})

describe("a database that goes away", () => {
  it.scopedLive("leaves its holder the lease, whose lock goes with it", () =>
    Effect.gen(function* () {
      const server = yield* privatePostgres()
      const [a, b] = [yield* replicaOf(server.url), yield* replicaOf(server.url)]
      const term = yield* leaseWithLock(a, yield* Effect.scope)
      yield* Effect.promise(server.crash)
      yield* Effect.promise(server.start)
      expect(yield* eventually(b.acquireLease("b", minute))).toEqual(Option.none())
      yield* eventually(a.renewLease(term, minute))
    })
  )
})
