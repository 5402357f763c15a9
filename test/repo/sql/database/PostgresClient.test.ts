import { SqlClient } from "@effect/sql"
import { PgClient } from "@effect/sql-pg"
import { describe, expect, it } from "@effect/vitest"
import {
  Context,
  DateTime,
  Deferred,
  Duration,
  Effect,
  Either,
  Exit,
  Fiber,
  Layer,
  Logger,
  Option,
  Redacted,
  Schedule,
  Scope,
  Stream,
  String
} from "effect"
import pg from "pg"
import { Unavailable } from "../../../../src/domain/Errors.ts"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import {
  acceptOne,
  acquireTerm,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  minute,
  newMessage,
  newRun,
  ops,
  queueRun,
  success,
  together,
  unlimited
} from "../../../../src/repo/contract/fixtures.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { LeaseLost } from "../../../../src/repo/run/LeaseStore.ts"
import { channel } from "../../../../src/repo/sql/database/Notifications.ts"
import * as PostgresClient from "../../../../src/repo/sql/database/PostgresClient.ts"
import * as PostgresNotifications from "../../../../src/repo/sql/database/PostgresNotifications.ts"
import { openSession } from "../../../../src/repo/sql/database/PostgresSession.ts"
import { lockClass, SessionLocks } from "../../../../src/repo/sql/database/SessionLocks.ts"
import * as RepoSql from "../../../../src/repo/sql/RepoSql.ts"
import { freshDatabase } from "../../../support/fresh.ts"
import { queryPostgres } from "../../../support/Postgres.ts"
import { privatePostgres } from "../../../support/private.ts"
import { timed } from "../../../support/Stopwatch.ts"

const password = "s3cr3t-of-the-database"

/** The error of an effect that must fail, and in time. */
const refusal = (effect: Effect.Effect<unknown, unknown>) => Effect.timeout(Effect.flip(effect), "15 seconds")

const layerOf = (url: string) =>
  RepoSql.layer.pipe(Layer.provideMerge(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 5 })))

type Replica = Effect.Effect.Success<typeof Repo> & {
  /** What a helper does with this process's repo. */
  readonly use: <A, E>(effect: Effect.Effect<A, E, Repo>) => Effect.Effect<A, E>
}

/** A process's own repo, for as long as the scope is open. */
const replicaWith = <E>(layer: Layer.Layer<Repo, E>): Effect.Effect<Replica, E, Scope.Scope> =>
  Effect.flatMap(Layer.build(layer), (context: Context.Context<Repo>) =>
    Effect.provide(
      Effect.map(Repo, (repo) => ({ ...repo, use: Effect.provide(context) })),
      context
    )
  )

const replicaOf = (url: string) => replicaWith(layerOf(url))

/** A lease for a minute, or until the process has ended; `scope` is the process. */
const leaseWithLock = (replica: Replica, scope: Scope.Scope) =>
  Effect.gen(function* () {
    const term = Option.getOrThrow(yield* replica.acquireLease("a", minute))
    const lock = yield* Scope.extend(replica.lockForProcess(term), scope)
    expect(lock.isHeld()).toBe(true)
    yield* replica.renewLease(term, minute, lock)
    return term
  })

/** Waits until it succeeds, as long as the test may take. */
const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.retry(effect, Schedule.spaced("50 millis"))

describe("replicas on one database", () => {
  it.scopedLive("count every run once while several of them accept, end, purge and roll up", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repos = yield* Effect.forEach(count(3), () => replicaOf(url), together)
      const webhooks = yield* Effect.forEach(count(5), () => repos[0]!.use(createWebhook()))
      const begin = DateTime.startOf(at(0), "hour")
      const hour = Duration.hours(1)
      const story = (repo: Replica, replica: number) =>
        Effect.gen(function* () {
          for (const round of count(10)) {
            // Each replica names the webhooks in another order.
            const order = webhooks.map((_, n) => webhooks[(n * (replica + 1) + round) % webhooks.length]!)
            const runs = yield* Effect.forEach(order, (webhook) => newRun(webhook))
            yield* repo.accept(runs, unlimited)
            yield* repo.end(runs.map(({ run_id }) => ({ run_id, outcome: success("ok"), at: at(round) })))
            if (round === 5) yield* repo.purge(at(1))
            yield* repo.rollUp(at(0))
          }
        })
      yield* Effect.forEach(repos, story, together)
      yield* repos[0]!.purge(at(1))
      for (const _ of count(2)) {
        const activity = yield* repos[1]!.activity(begin, hour)
        expect(activity.map(({ bucket, success, live }) => [bucket, success, live])).toEqual(
          webhooks.map(() => [0, 27, 0])
        )
        yield* repos[2]!.rollUp(at(0))
      }
    })
  )

  it.scopedLive("create the tables of an empty database, all starting at once", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repos = yield* Effect.forEach(count(4), () => replicaOf(url), together)
      yield* repos[0]!.createTeam(ops, at(0))
      for (const repo of repos) expect((yield* repo.teams).map((record) => record.team)).toEqual(["ops"])
      const migrations = yield* Effect.promise(() => queryPostgres(url, "select * from webhook_trigger.migrations"))
      expect(migrations.map((row) => row.migration_id)).toEqual([...new Set(migrations.map((row) => row.migration_id))])
      expect(migrations.length).toBeGreaterThan(0)
    })
  )

  it.scopedLive("keep one order, and one run for each key", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const [a, b] = [yield* replicaOf(url), yield* replicaOf(url)]
      const webhook = yield* a.use(createWebhook())
      const runs = yield* Effect.forEach(count(20), () => newRun(webhook))
      for (const [i, run] of runs.entries()) yield* (i % 2 === 0 ? a : b).use(acceptOne(run))
      expect((yield* a.lane(ops, 99)).map((run) => run.run_id)).toEqual(runs.map((run) => run.run_id))

      // In opposite directions, so that each waits for the other's keys.
      const keys = count(50).map((i) => `key ${i}`)
      const send = (replica: Replica, keys: ReadonlyArray<string>) =>
        Effect.forEach(
          keys,
          (key) =>
            Effect.gen(function* () {
              const idempotency = { key, request_hash: new Uint8Array(1), expires_at: at(60_000) }
              const run = yield* newRun(webhook, { idempotency })
              const acceptance = yield* replica.use(acceptOne(run))
              return acceptance._tag === "Repeated" ? acceptance.run.run_id : run.run_id
            }),
          together
        )
      const [ofA, ofB] = yield* Effect.all([send(a, keys), send(b, keys.toReversed())], together)
      expect(ofB.toReversed()).toEqual(ofA)
      expect(yield* a.lane(ops, 999)).toHaveLength(20 + 50)
    })
  )

  it.scopedLive("hold a webhook's rate together", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repos = yield* Effect.forEach(count(3), () => replicaOf(url), together)
      const webhooks = yield* Effect.forEach(["30/day", "7/hour", undefined], (rate) =>
        repos[0]!.use(createWebhook(rate === undefined ? {} : { rate }))
      )
      const accept = (repo: Replica, replica: number) =>
        Effect.forEach(
          count(20),
          (round) =>
            Effect.gen(function* () {
              // Each replica names the webhooks in another order.
              const order = count(6).map((n) => webhooks[(n * (replica + 1) + round) % webhooks.length]!)
              yield* repo.accept(yield* Effect.forEach(order, (webhook) => newRun(webhook)), unlimited)
            }),
          together
        )
      yield* Effect.forEach(repos, accept, together)
      const accepted = yield* Effect.forEach(webhooks, ({ id }) => repos[1]!.slots(id))
      expect(accepted.slice(0, 2).map(({ queued }) => queued)).toEqual([30, 7])
    })
  )

  it.scopedLive("are notified of each other's changes", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const [a, b] = [yield* replicaOf(url), yield* replicaOf(url)]
      const webhook = yield* a.use(createWebhook())
      const heard = yield* Deferred.make<void>()
      yield* Stream.fromQueue(yield* subscribe(b)).pipe(
        Stream.filter((change) => change._tag === "RunAccepted" && change.team === ops),
        Stream.runForEach(() => Deferred.succeed(heard, undefined)),
        Effect.forkScoped
      )
      yield* a.use(queueRun(webhook))
      yield* Deferred.await(heard)
    })
  )

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
        yield* Effect.repeat(waiting, { until: (n) => n === 1 })
        const seen = yield* Effect.fork(
          Effect.gen(function* () {
            yield* b.releaseLease(term)
            yield* b.use(acquireTerm)
            return (yield* b.inFlight).some((run) => run.run_id === id)
          })
        )
        yield* Effect.raceFirst(Fiber.await(seen), Effect.repeat(waiting, { until: (n) => n === 2 }))
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
      yield* Effect.repeat(ofLock("pid"), { until: (rows) => rows.length === 1 })
      yield* Effect.repeat(Effect.sync(lock.isHeld), { until: (isHeld) => isHeld, schedule: Schedule.spaced(5) })
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

  it.scopedLive("close many windows in portions, in the order of their ends", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repo = yield* replicaOf(url)
      const webhook = yield* repo.use(createWebhook())
      // Each ends before those that were opened earlier, but for the two that end with it.
      const runs = yield* Effect.forEach(count(2_500), (n) =>
        newRun(webhook, { coalesce: { key: `key ${n}`, until: at(60_000 - Math.floor(n / 3)) } })
      )
      yield* repo.accept(runs, unlimited)
      yield* repo.closeWindows(at(60_000))
      const byEnd = runs.toSorted((a, b) => DateTime.Order(a.coalesce!.until, b.coalesce!.until))
      expect((yield* repo.lane(ops, 9_999)).map(({ run_id }) => run_id)).toEqual(byEnd.map(({ run_id }) => run_id))
      const [portions] = yield* Effect.promise(() =>
        queryPostgres(
          url,
          `select count(*)::int as all, max(runs)::int as largest
           from (select count(*) as runs from webhook_trigger.runs group by xmin) as portions`
        )
      )
      expect(portions).toEqual({ all: 3, largest: 1_002 })
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
          if (sql === "select 1") Deferred.unsafeDone(probed, Exit.void)
          return result
        }
        return Object.assign(client, { query: observed })
      }
      const session = yield* openSession(connect)
      const process = yield* Scope.make()
      const isHeld = yield* Scope.extend(session.hold(1), process)
      yield* Deferred.await(probed)
      yield* Deferred.succeed(late, undefined)
      yield* Effect.repeat(Effect.sync(isHeld), { until: (isHeld) => isHeld, schedule: Schedule.spaced(5) })
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

  it.scopedLive("block each other for a bounded time only", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repo = yield* replicaOf(url)
      const webhook = yield* repo.use(createWebhook())
      const context = yield* Layer.build(PostgresClient.layer({ url: Redacted.make(url) }))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const locked = yield* Deferred.make<void>()
        const release = yield* Deferred.make<void>()
        const locker = yield* Effect.gen(function* () {
          yield* sql`set local idle_in_transaction_session_timeout = 0`
          yield* sql`lock table webhook_trigger.runs in access exclusive mode`
          yield* Deferred.succeed(locked, undefined)
          yield* Deferred.await(release)
        }).pipe(sql.withTransaction, Effect.fork)
        yield* Deferred.await(locked)
        const runs = yield* Effect.forEach(count(50), () => newRun(webhook))
        const [refused, ...others] = yield* Effect.forEach(
          [repo.accept(runs, unlimited), ...runs.map((run) => repo.run(run.run_id)), repo.lanes],
          refusal,
          together
        )
        for (const error of [refused, ...others]) expect(error).toBeInstanceOf(Unavailable)
        // The connections are not all taken by those that wait: what needs no locked table is served.
        yield* repo.ping
        yield* Deferred.succeed(release, undefined)
        yield* locker.await
        yield* repo.use(queueRun(webhook))
      }).pipe(Effect.provide(context))
    })
  )
})

/** What a host has that reads its own tables in camel case. */
const hostClient = (url: string) =>
  PgClient.layer({
    url: Redacted.make(url),
    transformQueryNames: String.camelToSnake,
    transformResultNames: String.snakeToCamel
  })

const hosted = <E>(url: string, notifications: Layer.Layer<RepoSql.Notifications, E>) =>
  RepoSql.layer.pipe(
    Layer.provide(notifications),
    Layer.provide(Layer.effectDiscard(RepoSql.migrate)),
    Layer.provide(hostClient(url))
  )

describe("a host's own SqlClient", () => {
  it.scopedLive("serves the repo, whatever names it transforms", () =>
    Effect.gen(function* () {
      const repo = yield* replicaWith(hosted(yield* freshDatabase, RepoSql.Notifications.layerPolling))
      yield* Effect.gen(function* () {
        const webhook = yield* createWebhook({ max_concurrent: 3 })
        const { token_hash: _, ...shown } = webhook
        expect(yield* repo.webhook(webhook.id)).toEqual(shown)
        const id = yield* queueRun(webhook)
        expect(yield* admitOne(id, yield* acquireTerm)).toBe(true)
        expect(yield* repo.inFlight).toMatchObject([{ run_id: id, webhook: { id: webhook.id, max_concurrent: 3 } }])
        const ended = yield* endOne(id, success("done"), 5)
        expect(ended).toEqual({ recorded: true, run: yield* repo.run(id) })
        expect(yield* repo.deleteWebhook(webhook.id)).toEqual([])
        yield* repo.deleteTeam(ops)
      }).pipe(repo.use)
    })
  )

  it.scopedLive("is notified of changes over a connection beside it", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const notifications = PostgresNotifications.layer({ url: Redacted.make(url) })
      const [a, b] = [yield* replicaWith(hosted(url, notifications)), yield* replicaOf(url)]
      const changes = yield* subscribe(a)
      const webhook = yield* b.use(createWebhook())
      expect(yield* Effect.timeout(changes.take, "10 seconds")).toEqual({
        _tag: "WebhookChanged",
        webhook_id: webhook.id
      })
    })
  )
})

describe("a database that goes away", () => {
  it.scopedLive(
    "leaves its holder the lease, whose lock goes with it",
    () =>
      Effect.gen(function* () {
        const server = yield* privatePostgres()
        const [a, b] = [yield* replicaOf(server.url), yield* replicaOf(server.url)]
        const term = yield* leaseWithLock(a, yield* Effect.scope)
        yield* Effect.promise(server.crash)
        yield* Effect.promise(server.start)
        expect(yield* eventually(b.acquireLease("b", minute))).toEqual(Option.none())
        yield* eventually(a.renewLease(term, minute))
      }),
    60_000
  )

  it.scopedLive(
    "is reported in bounded time, and used again, changes included, when it is back",
    () =>
      Effect.gen(function* () {
        const server = yield* privatePostgres()
        const repo = yield* replicaOf(server.url)
        const webhook = yield* repo.use(createWebhook())
        const before = yield* repo.use(queueRun(webhook))
        for (const end of [server.stop, server.crash, server.kill]) {
          yield* Effect.promise(end)
          const refused = yield* Effect.forEach(
            [
              repo.ping,
              repo.lanes,
              repo.webhooksByToken([webhook.token_hash], DateTime.unsafeMake(0)),
              repo.accept([yield* newMessage()], unlimited)
            ],
            refusal,
            together
          )
          for (const error of refused) expect(error).toBeInstanceOf(Unavailable)
          yield* Effect.promise(server.start)
          yield* eventually(repo.ping)
          expect((yield* repo.run(before)).status).toBe("queued")
          const heard = yield* Deferred.make<void>()
          yield* Stream.fromQueue(yield* subscribe(repo)).pipe(
            Stream.runForEach(() => Deferred.succeed(heard, undefined)),
            Effect.forkScoped
          )
          // What is notified before the listener is back is lost; what is notified later is not.
          yield* Effect.raceFirst(
            Deferred.await(heard),
            Effect.forever(Effect.delay(repo.use(queueRun(webhook)), "100 millis"))
          )
        }
      }),
    90_000
  )

  it.scopedLive(
    "is reported in bounded time when it does not answer, and used again when it does",
    () =>
      Effect.gen(function* () {
        const server = yield* privatePostgres()
        const repo = yield* replicaOf(server.url)
        const webhook = yield* repo.use(createWebhook())
        server.pause()
        const runs = yield* Effect.forEach(count(30), () => newRun(webhook))
        const refused = yield* Effect.forEach(
          [repo.accept(runs, unlimited), ...runs.map((run) => repo.run(run.run_id))],
          refusal,
          together
        )
        for (const error of refused) expect(error).toBeInstanceOf(Unavailable)
        server.resume()
        yield* eventually(repo.ping)
        yield* repo.use(queueRun(webhook))
        // Whether such a run is there or not: it is whole, and can be read.
        const there = yield* Effect.forEach(runs, (run) => Effect.exit(repo.run(run.run_id)))
        expect(yield* repo.lane(ops, 99)).toHaveLength(1 + there.filter(Exit.isSuccess).length)
      }),
    60_000
  )

  it.scopedLive(
    "holds up the end of its layer for a bounded time only",
    () =>
      Effect.gen(function* () {
        const server = yield* privatePostgres()
        const scope = yield* Scope.make()
        const repo = yield* Scope.extend(replicaOf(server.url), scope)
        const sql = yield* Effect.provide(
          SqlClient.SqlClient,
          yield* Layer.build(PostgresClient.layer({ url: Redacted.make(server.url) }))
        )
        const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock'`
        const locked = yield* Deferred.make<void>()
        yield* sql`lock table webhook_trigger.teams`.pipe(
          Effect.zipRight(Deferred.succeed(locked, undefined)),
          Effect.zipRight(Effect.never),
          sql.withTransaction,
          Effect.forkScoped
        )
        yield* Deferred.await(locked)
        yield* Effect.fork(Effect.exit(repo.teams))
        yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
        server.pause()
        const [took] = yield* timed(Scope.close(scope, Exit.void))
        server.resume()
        expect(took).toBeLessThan(4000)
      }),
    60_000
  )

  it.scopedLive(
    "leaves open whether a statement was executed only when that was sent and not answered",
    () =>
      Effect.gen(function* () {
        const server = yield* privatePostgres()
        const repo = yield* replicaOf(server.url)
        const webhook = yield* repo.use(createWebhook())
        const query = (sql: string) => Effect.promise(() => queryPostgres(server.url, sql))
        const locker = yield* Effect.acquireRelease(
          Effect.promise(async () => {
            const client = new pg.Client(server.url)
            client.on("error", () => {})
            await client.connect()
            await client.query("begin; lock table webhook_trigger.runs")
            return client
          }),
          (client) => Effect.promise(() => client.end().catch(() => {}))
        )
        const waiting = "select pid from pg_stat_activity where wait_event_type = 'Lock'"
        const accepting = Effect.flatMap(newRun(webhook), (run) => refusal(repo.accept([run], unlimited)))

        // It waits for the lock until it is refused.
        expect(yield* accepting).toMatchObject({ not_done: true })

        const cut = yield* Effect.fork(accepting)
        yield* Effect.repeat(query(waiting), { until: (rows) => rows.length > 0 })
        yield* query(`select pg_terminate_backend(pid) from (${waiting}) as waiting`)
        expect(yield* Fiber.join(cut)).not.toHaveProperty("not_done")

        yield* Effect.promise(() => locker.end())
        yield* Effect.promise(server.stop)
        yield* Effect.repeat(Effect.flip(repo.ping), { until: ({ not_done }) => not_done === true })
        expect(yield* accepting).toMatchObject({ not_done: true })
      }),
    60_000
  )

  it.scopedLive("is listened to over another connection when the first one falls silent at once", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      let clients = 0
      const connect = () => {
        const client = new pg.Client(url)
        if (++clients === 1) client.query = () => new Promise<never>(() => {})
        return client
      }
      const notifications = yield* openSession(connect)
      const heard = yield* Deferred.make<string>()
      yield* notifications.listen((payload) => Deferred.unsafeDone(heard, Exit.succeed(payload)))
      const notify = Effect.promise(() => queryPostgres(url, `select pg_notify('${channel}', 'hello')`))
      yield* Effect.raceFirst(Deferred.await(heard), Effect.forever(Effect.delay(notify, "100 millis")))
      expect(clients).toBe(2)
    })
  )

  it.scopedLive("compiles no statement of ours, also where it is told to", () =>
    Effect.gen(function* () {
      const url = new URL(yield* freshDatabase)
      url.searchParams.set("options", "-c jit=on -c jit_above_cost=0")
      const context = yield* Layer.build(layerOf(url.href))
      const sql = Context.get(context, SqlClient.SqlClient)
      const settings = yield* Effect.all([sql`show jit`, sql`show jit_above_cost`])
      expect(settings).toEqual([[{ jit: "off" }], [{ jit_above_cost: "0" }]])
    })
  )

  it.scopedLive("is named at the start when it can never be reached, without its password", () =>
    Effect.gen(function* () {
      const url = new URL(yield* freshDatabase)
      url.password = password
      url.pathname = "/nowhere"
      const lines: Array<string> = []
      const error = yield* Effect.flip(replicaOf(url.href)).pipe(
        Effect.provide(
          Logger.replace(
            Logger.defaultLogger,
            Logger.make((line) => lines.push(Logger.logfmtLogger.log(line)))
          )
        )
      )
      expect(error).toBeInstanceOf(Unavailable)
      expect(error.detail).toContain("nowhere")
      expect(lines.length).toBeGreaterThan(0)
      expect(JSON.stringify([error, ...lines])).not.toContain(password)
    })
  )
})
