import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Either, Exit, Fiber, Layer, Logger, Redacted, Schedule, type Scope, Stream } from "effect"
import { Unavailable } from "../../src/domain/Errors.ts"
import { Repo } from "../../src/repo/Repo.ts"
import * as PostgresClient from "../../src/repo/sql/PostgresClient.ts"
import * as RepoSql from "../../src/repo/sql/RepoSql.ts"
import { freshDatabase } from "../support/fresh.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { privatePostgres } from "../support/private.ts"
import { at, makeHook, newMessage, newRun, ops, plenty, queue, takeTerm } from "./fixtures.ts"

const all = { concurrency: "unbounded" } as const
const password = "s3cr3t-of-the-database"

/** The error of an effect that must fail, and in time. */
const refusal = (effect: Effect.Effect<unknown, unknown>) => Effect.timeout(Effect.flip(effect), "15 seconds")

const layerOf = (url: string) =>
  RepoSql.layer.pipe(Layer.provideMerge(PostgresClient.layer({ url: Redacted.make(url), max_connections: 5 })))

/** A process's own view of the database, for as long as the scope is open. */
const replicaOf = (url: string): Effect.Effect<Repo["Type"], Unavailable, Scope.Scope> =>
  Effect.flatMap(Layer.build(layerOf(url)), (context) => Effect.provide(Repo, context))

/** Waits until it succeeds, as long as the test may take. */
const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.retry(effect, Schedule.spaced("50 millis"))

describe("replicas on one database", () => {
  it.scopedLive("make the tables of an empty database, all starting at once", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repos = yield* Effect.forEach(Array.from({ length: 4 }), () => replicaOf(url), all)
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
      const hook = yield* Effect.provideService(makeHook(), Repo, a)
      const runs = yield* Effect.forEach(Array.from({ length: 20 }), () => newRun(hook))
      for (const [i, run] of runs.entries()) yield* (i % 2 === 0 ? a : b).accept(run, plenty)
      expect((yield* a.lane(ops, 99)).map((run) => run.run_id)).toEqual(runs.map((run) => run.run_id))

      // In opposite directions, so that each waits for the other's keys.
      const keys = Array.from({ length: 50 }, (_, i) => `key ${i}`)
      const send = (repo: Repo["Type"], keys: ReadonlyArray<string>) =>
        Effect.forEach(
          keys,
          (key) =>
            Effect.gen(function* () {
              const run = yield* newRun(hook, { idempotency: { key, request_hash: new Uint8Array(1), ttl_ms: 60_000 } })
              const acceptance = yield* repo.accept(run, plenty)
              return acceptance._tag === "accepted" ? run.run_id : acceptance.run.run_id
            }),
          all
        )
      const [ofA, ofB] = yield* Effect.all([send(a, keys), send(b, keys.toReversed())], all)
      expect(ofB.toReversed()).toEqual(ofA)
      expect(yield* a.lane(ops, 999)).toHaveLength(20 + 50)
    })
  )

  it.scopedLive("are told of each other's changes", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const [a, b] = [yield* replicaOf(url), yield* replicaOf(url)]
      const hook = yield* Effect.provideService(makeHook(), Repo, a)
      const heard = yield* Deferred.make<void>()
      yield* Stream.fromQueue(yield* b.changes).pipe(
        Stream.filter((change) => change._tag === "RunAccepted" && change.team === ops),
        Stream.runForEach(() => Deferred.succeed(heard, undefined)),
        Effect.forkScoped
      )
      yield* Effect.provideService(queue(hook), Repo, a)
      yield* Deferred.await(heard)
    })
  )

  it.scopedLive("hand the lease over only when what its holder was about to do is done, and seen", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const [a, b] = [yield* replicaOf(url), yield* replicaOf(url)]
      const hook = yield* Effect.provideService(makeHook(), Repo, a)
      const id = yield* Effect.provideService(queue(hook), Repo, a)
      const term = yield* Effect.provideService(takeTerm, Repo, a)
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
        const admitted = yield* Effect.fork(Effect.either(a.admit([id], term)))
        yield* Effect.repeat(waiting, { until: (n) => n === 1 })
        const seen = yield* Effect.fork(
          Effect.gen(function* () {
            yield* b.releaseLease(term)
            yield* Effect.provideService(takeTerm, Repo, b)
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

  it.scopedLive("hold each other up for a bounded time only", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const repo = yield* replicaOf(url)
      const hook = yield* Effect.provideService(makeHook(), Repo, repo)
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
        const runs = yield* Effect.forEach(Array.from({ length: 50 }), () => newRun(hook))
        const [refused, ...others] = yield* Effect.forEach(
          [...runs.map((run) => repo.accept(run, plenty)), ...runs.map((run) => repo.run(run.run_id)), repo.lanes],
          refusal,
          all
        )
        for (const error of [refused, ...others]) expect(error).toBeInstanceOf(Unavailable)
        // The connections are not all taken by those that wait: what needs no locked table is served.
        yield* repo.ping
        yield* Deferred.succeed(release, undefined)
        yield* locker.await
        yield* Effect.provideService(queue(hook), Repo, repo)
      }).pipe(Effect.provide(context))
    })
  )
})

describe("a database that goes away", () => {
  it.scopedLive(
    "is missed in bounded time, and used again, changes and all, when it is back",
    () =>
      Effect.gen(function* () {
        const server = yield* privatePostgres()
        const repo = yield* replicaOf(server.url)
        const hook = yield* Effect.provideService(makeHook(), Repo, repo)
        const before = yield* Effect.provideService(queue(hook), Repo, repo)
        for (const end of [server.stop, server.crash, server.kill]) {
          yield* Effect.promise(end)
          const missed = yield* Effect.forEach(
            [repo.ping, repo.lanes, repo.webhookByToken(hook.token_hash), repo.accept(yield* newMessage(), plenty)],
            refusal,
            all
          )
          for (const error of missed) expect(error).toBeInstanceOf(Unavailable)
          yield* Effect.promise(server.start)
          yield* eventually(repo.ping)
          expect((yield* repo.run(before)).status).toBe("queued")
          const heard = yield* Deferred.make<void>()
          yield* Stream.fromQueue(yield* repo.changes).pipe(
            Stream.runForEach(() => Deferred.succeed(heard, undefined)),
            Effect.forkScoped
          )
          // What is told before the listener is back is lost; what is told later is not.
          yield* Effect.raceFirst(
            Deferred.await(heard),
            Effect.forever(Effect.delay(Effect.provideService(queue(hook), Repo, repo), "100 millis"))
          )
        }
      }),
    90_000
  )

  it.scopedLive(
    "is missed in bounded time when it just says nothing, and used again when it speaks",
    () =>
      Effect.gen(function* () {
        const server = yield* privatePostgres()
        const repo = yield* replicaOf(server.url)
        const hook = yield* Effect.provideService(makeHook(), Repo, repo)
        server.pause()
        const runs = yield* Effect.forEach(Array.from({ length: 30 }), () => newRun(hook))
        const missed = yield* Effect.forEach(
          [...runs.map((run) => repo.accept(run, plenty)), ...runs.map((run) => repo.run(run.run_id))],
          refusal,
          all
        )
        for (const error of missed) expect(error).toBeInstanceOf(Unavailable)
        server.resume()
        yield* eventually(repo.ping)
        yield* Effect.provideService(queue(hook), Repo, repo)
        // Whether a run of which that was said is there or not: it is whole, and can be asked for.
        const there = yield* Effect.forEach(runs, (run) => Effect.exit(repo.run(run.run_id)))
        expect(yield* repo.lane(ops, 99)).toHaveLength(1 + there.filter(Exit.isSuccess).length)
      }),
    60_000
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
