import * as Net from "node:net"
import { PgConnection } from "@effect/sql-pg"
import { Array as Arr, DateTime, Deferred, Duration, Effect, Fiber, Layer, Redacted, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Unavailable } from "../../src/domain/Errors.ts"
import { subscribe } from "../../src/repo/ChangeFeed.ts"
import * as PostgresClient from "../../src/repo/database/PostgresClient.ts"
import { freshDatabase } from "../support/fresh.ts"
import { describe, expect, it } from "../support/It.ts"
import { queryPostgres } from "../support/Postgres.ts"
import {
  acceptAll,
  acceptOne,
  at,
  count,
  createWebhook,
  drain,
  endAll,
  endOne,
  newRun,
  ops,
  queueRun,
  step,
  success,
  together
} from "./contract/fixtures.ts"
import { type Replica, refusal, replicaOf } from "./Replica.ts"

/** A session without time limits, which sends one statement after another without waiting for answers. */
const connected = (url: string) => PgConnection.make({ url: Redacted.make(url), multiplex: true })

/** A process that takes the lock of the steps, and does not read what it asked for, as it is frozen. */
const frozen = (url: string) =>
  Effect.gen(function* () {
    const { hostname, port } = new URL(url)
    const socket = Net.connect(Number(port), hostname)
    const client = yield* PgConnection.make({ url: Redacted.make(url), stream: () => socket })
    const ask = `with locked as materialized (select from webhook_trigger.admit('{}', '{}', null, now(), 0, '{}'))
      select repeat('x', 1000) from (select count(*) from locked) as one, generate_series(1, 100000)`
    const paused = yield* Deferred.make<void>()
    socket.once("data", () => {
      socket.pause()
      Deferred.doneUnsafe(paused, Effect.void)
    })
    yield* Effect.forkScoped(Effect.exit(client.query(ask)))
    yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
    yield* Deferred.await(paused)
  })

describe("replicas on one database", () => {
  it.live("a process that is frozen in a step does not hold up the others", function* () {
    const url = yield* freshDatabase
    const repo = yield* replicaOf(url)
    const webhook = yield* repo.use(createWebhook())
    yield* frozen(url)
    yield* Effect.repeat(repo.undoStuck, { until: (undone) => undone > 0, schedule: Schedule.spaced("100 millis") })
    const run = yield* newRun(webhook)
    expect((yield* repo.use(step({ accepts: [run] }))).admitted.map(({ run_id }) => run_id)).toEqual([run.run_id])
    expect(yield* repo.undoStuck).toBe(0)
  })

  it.live("a webhook that is deleted while another process admits one of its runs names that run first", function* () {
    const url = yield* freshDatabase
    const repo = yield* replicaOf(url)
    const webhook = yield* repo.use(createWebhook())
    const [first, second] = [yield* repo.use(queueRun(webhook)), yield* repo.use(queueRun(webhook))]
    const client = yield* connected(url)
    yield* client.query("begin")
    yield* client.query(`update webhook_trigger.runs set admitted_at = now() where id = '${second}'`)
    const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    // By the server itself: the deletion waits for three seconds only.
    const untilItWaits = `
        do $$ begin
          while not exists (${waiting}) loop
            perform pg_sleep(0.01), pg_stat_clear_snapshot();
          end loop;
        end $$`
    const [unfinished] = yield* Effect.all(
      [repo.deleteWebhook(webhook.id), client.query(untilItWaits), client.query("commit")],
      together
    )
    expect(unfinished.map(({ run_id }) => run_id)).toEqual([second, first])
  })

  it.live(
    "count every run once while several of them accept, end and roll up, and keep the counts when runs are purged",
    function* () {
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
            yield* repo.use(acceptAll(runs))
            yield* repo.use(endAll(runs.map(({ run_id }) => ({ run_id, outcome: success("ok"), at: at(round) }))))
            yield* repo.rollUp(at(0), Duration.millis(200))
          }
        })
      yield* Effect.forEach(repos, story, together)
      const countsAre30 = Effect.gen(function* () {
        const activity = yield* repos[1]!.activity(begin, hour)
        expect(activity.map(({ bucket, success, live }) => [bucket, success, live])).toEqual(
          webhooks.map(() => [0, 30, 0])
        )
      })
      for (const repo of repos) {
        yield* countsAre30
        expect(yield* repo.rollUp(at(0), Duration.zero)).toBe(false)
      }
      expect(yield* repos[0]!.purge(at(8))).toBe(3 * 5 * 8)
      // Another end in the same hour: what was purged is not counted again, and not forgotten.
      const late = yield* newRun(webhooks[0]!)
      yield* acceptOne(late).pipe(repos[0]!.use)
      yield* repos[0]!.use(endOne(late.run_id, success("late"), 100))
      for (const repo of repos) {
        const activity = yield* repo.activity(begin, hour)
        expect(activity.map(({ success }) => success).sort()).toEqual([30, 30, 30, 30, 31])
        yield* repo.rollUp(at(0), Duration.zero)
      }
    }
  )

  it.live(
    "count an end whose transaction began before others that are counted, and is committed after them",
    function* () {
      const url = yield* freshDatabase
      const repo = yield* replicaOf(url)
      const webhook = yield* repo.use(createWebhook())
      const [slow, fast] = [yield* repo.use(queueRun(webhook)), yield* repo.use(queueRun(webhook))]
      const client = yield* connected(url)
      yield* client.query("begin")
      yield* client.query(
        `update webhook_trigger.runs set status = 'success', finished_at = accepted_at, recorded_at = now() where id = $1`,
        [slow]
      )
      yield* repo.use(endOne(fast, success("ok"), 1))
      const counts = Effect.map(repo.activity(DateTime.startOf(at(0), "hour"), Duration.hours(1)), (activity) =>
        activity.map(({ live, success }) => [success, live])
      )
      yield* repo.rollUp(at(0), Duration.zero)
      expect(yield* counts).toEqual([[1, 1]])
      yield* client.query("commit")
      for (const _ of count(2)) {
        expect(yield* counts).toEqual([[2, 0]])
        yield* repo.rollUp(at(0), Duration.zero)
      }
    }
  )

  it.live("create the tables of an empty database, all starting at once", function* () {
    const url = yield* freshDatabase
    const repos = yield* Effect.forEach(count(4), () => replicaOf(url), together)
    yield* repos[0]!.createTeam(ops, at(0))
    for (const repo of repos) expect((yield* repo.teams).map((record) => record.team)).toEqual(["ops"])
    const migrations = yield* Effect.promise(() => queryPostgres(url, "select * from webhook_trigger.migrations"))
    expect(migrations.map((row) => row.migration_id)).toEqual([...new Set(migrations.map((row) => row.migration_id))])
    expect(migrations.length).toBeGreaterThan(0)
  })

  it.live("keep one order, and one run for each key", function* () {
    const url = yield* freshDatabase
    const [a, b] = [yield* replicaOf(url), yield* replicaOf(url)]
    const webhook = yield* a.use(createWebhook())
    const runs = yield* Effect.forEach(count(20), () => newRun(webhook))
    for (const [i, run] of runs.entries()) yield* (i % 2 === 0 ? a : b).use(acceptOne(run))
    expect(yield* a.use(drain())).toEqual(runs.map((run) => run.run_id))

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
    expect(yield* b.use(drain())).toHaveLength(50)
  })

  it.live("hold a webhook's rate together", function* () {
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
            yield* repo.use(acceptAll(yield* Effect.forEach(order, (webhook) => newRun(webhook))))
          }),
        together
      )
    yield* Effect.forEach(repos, accept, together)
    const accepted = yield* Effect.forEach(webhooks, ({ id }) => repos[1]!.slots(id))
    expect(accepted.slice(0, 2).map(({ queued }) => queued)).toEqual([30, 7])
  })

  it.live("are notified of each other's changes", function* () {
    const url = yield* freshDatabase
    const [a, b] = [yield* replicaOf(url), yield* replicaOf(url)]
    const webhook = yield* a.use(createWebhook())
    const heard = yield* Deferred.make<void>()
    yield* Stream.fromQueue(yield* subscribe(b)).pipe(
      Stream.filter((change) => change._tag === "RunAccepted" && change.team === ops),
      Stream.runForEach(() => Deferred.succeed(heard, undefined)),
      Effect.forkScoped
    )
    // A notification is lost while the listener connects again.
    yield* Effect.raceFirst(Deferred.await(heard), Effect.forever(Effect.delay(a.use(queueRun(webhook)), "100 millis")))
  })

  it.live("close many windows in portions, in the order of their ends", function* () {
    const url = yield* freshDatabase
    const repo = yield* replicaOf(url)
    const webhook = yield* repo.use(createWebhook())
    // Each ends before those that were opened earlier, but for the two that end with it.
    const runs = yield* Effect.forEach(count(2_500), (n) =>
      newRun(webhook, { coalesce: { key: `key ${n}`, until: at(60_000 - Math.floor(n / 3)) } })
    )
    yield* Effect.forEach(Arr.chunksOf(runs, 500), (some) => repo.use(acceptAll(some)))
    yield* repo.endHolds(at(60_000))
    const byEnd = runs.toSorted((a, b) => DateTime.Order(a.coalesce!.until, b.coalesce!.until))
    const lane = yield* Effect.promise(() => queryPostgres(url, "select id from webhook_trigger.runs order by place"))
    expect(lane.map(({ id }) => id)).toEqual(byEnd.map(({ run_id }) => run_id))
    const [portions] = yield* Effect.promise(() =>
      queryPostgres(
        url,
        `select count(*)::int as all, max(runs)::int as largest
           from (select count(*) as runs from webhook_trigger.runs group by xmin) as portions`
      )
    )
    expect(portions).toEqual({ all: 3, largest: 1_002 })
  })

  it.live("block each other for a bounded time only", function* () {
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
      }).pipe(sql.withTransaction, Effect.forkChild)
      yield* Deferred.await(locked)
      const runs = yield* Effect.forEach(count(50), () => newRun(webhook))
      const [refused, ...others] = yield* Effect.forEach(
        [repo.use(acceptAll(runs)), ...runs.map((run) => repo.run(run.run_id)), repo.lanes],
        refusal,
        together
      )
      for (const error of [refused, ...others]) expect(error).toBeInstanceOf(Unavailable)
      // The connections are not all taken by those that wait: what needs no locked table is served.
      yield* repo.ping
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.await(locker)
      yield* repo.use(queueRun(webhook))
    }).pipe(Effect.provide(context))
  })
})
