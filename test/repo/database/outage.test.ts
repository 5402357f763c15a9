import { PgConnection } from "@effect/sql-pg"
import { DateTime, Deferred, Effect, Exit, Layer, Redacted, Result, Scope, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { subscribe } from "../../../src/repo/ChangeFeed.ts"
import { channel } from "../../../src/repo/database/Notifications.ts"
import { sessionOf } from "../../../src/repo/database/PostgresAddress.ts"
import * as PostgresClient from "../../../src/repo/database/PostgresClient.ts"
import { listen } from "../../../src/repo/database/PostgresListener.ts"
import { freshDatabase } from "../../support/fresh.ts"
import { describe, expect, it } from "../../support/It.ts"
import { queryPostgres } from "../../support/Postgres.ts"
import { Proxy } from "../../support/Proxy.ts"
import { privatePostgres } from "../../support/private.ts"
import { repeatUntil } from "../../support/Until.ts"
import {
  acceptAll,
  acceptOne,
  count,
  createWebhook,
  drain,
  newMessage,
  newRun,
  ops,
  queueRun,
  together
} from "../contract/fixtures.ts"
import { eventually, refusal, replicaOf } from "../Replica.ts"

describe("a database that goes away", () => {
  it.live("is reported in bounded time, and used again, changes included, when it is back", function* () {
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
          repo.webhooksByToken([webhook.token_hash], DateTime.makeUnsafe(0)),
          repo.use(acceptOne(yield* newMessage()))
        ],
        refusal,
        together
      )
      for (const error of refused) expect(error).toBeInstanceOf(Unavailable)
      yield* Effect.promise(server.start)
      // The end of a connection in the pool may be noticed when it is used.
      expect((yield* eventually(repo.run(before))).status).toBe("queued")
      const heard = yield* Deferred.make<void>()
      yield* Stream.fromQueue(yield* subscribe(repo)).pipe(
        Stream.runForEach(() => Deferred.succeed(heard, undefined)),
        Effect.forkScoped
      )
      // What is notified before the listener is back is lost; what is notified later is not.
      yield* Effect.raceFirst(
        Deferred.await(heard),
        Effect.forever(Effect.delay(eventually(repo.use(queueRun(webhook))), "100 millis"))
      )
    }
  })

  it.live("is reported in bounded time when it does not answer, and used again when it does", function* () {
    const server = yield* privatePostgres()
    const repo = yield* replicaOf(server.url)
    const webhook = yield* repo.use(createWebhook())
    server.pause()
    const runs = yield* Effect.forEach(count(30), () => newRun(webhook))
    const refused = yield* Effect.forEach(
      [repo.use(acceptAll(runs)), ...runs.map((run) => repo.run(run.run_id))],
      refusal,
      together
    )
    for (const error of refused) expect(error).toBeInstanceOf(Unavailable)
    server.resume()
    yield* eventually(repo.ping)
    yield* repo.use(queueRun(webhook))
    // Whether such a run is there or not: it is whole, and can be read. The server may still be storing them.
    let drained = 0
    const waiting = Effect.gen(function* () {
      const there = yield* Effect.forEach(runs, (run) => Effect.exit(repo.run(run.run_id)))
      drained += (yield* repo.use(drain())).length
      return 1 + there.filter(Exit.isSuccess).length - drained
    })
    yield* repeatUntil(waiting, (runs) => runs === 0)
  })

  it.live("holds up the end of its layer for a bounded time only", function* () {
    const server = yield* privatePostgres()
    const scope = yield* Scope.make()
    const repo = yield* Scope.provide(replicaOf(server.url), scope)
    const sql = yield* Effect.provide(
      SqlClient.SqlClient,
      yield* Layer.build(PostgresClient.layer({ url: Redacted.make(server.url) }))
    )
    const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock'`
    const locked = yield* Deferred.make<void>()
    yield* sql`set local idle_in_transaction_session_timeout = 0`.pipe(
      Effect.andThen(sql`lock table webhook_trigger.teams`),
      Effect.andThen(Deferred.succeed(locked, undefined)),
      Effect.andThen(Effect.never),
      sql.withTransaction,
      Effect.forkScoped
    )
    yield* Deferred.await(locked)
    // It waits for the lock for three seconds, and then again.
    let isPaused = false
    yield* Effect.forkChild(Effect.repeat(Effect.exit(repo.teams), { until: () => isPaused }))
    yield* repeatUntil(waiting, (rows) => rows.length > 0)
    isPaused = true
    server.pause()
    // The database answers nothing until this has ended.
    yield* Scope.close(scope, Exit.void)
    server.resume()
  })

  it.live("leaves open whether a statement was executed only when that was sent and not answered", function* () {
    const server = yield* privatePostgres()
    const repo = yield* replicaOf(server.url)
    const webhook = yield* repo.use(createWebhook())
    const query = (sql: string) => Effect.promise(() => queryPostgres(server.url, sql))
    const locker = yield* PgConnection.make({ url: Redacted.make(server.url) })
    yield* locker.query("begin")
    yield* locker.query("lock table webhook_trigger.runs")
    // By the server itself: a statement waits for three seconds only.
    const cutWaiting = `
        do $$ begin loop
          perform pg_stat_clear_snapshot();
          perform pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock';
          exit when found;
          perform pg_sleep(0.01);
        end loop; end $$`
    const accepting = Effect.flatMap(newRun(webhook), (run) => refusal(repo.use(acceptOne(run))))

    // It waits for the lock until it is refused.
    expect(yield* accepting).toMatchObject({ not_done: true })

    const [cut] = yield* Effect.all([accepting, query(cutWaiting)], together)
    expect(cut).not.toHaveProperty("not_done")

    yield* locker.query("rollback")
    yield* Effect.promise(server.stop)
    yield* repeatUntil(Effect.flip(repo.ping), ({ not_done }) => not_done === true)
    expect(yield* accepting).toMatchObject({ not_done: true })
  })

  it.live("is left for the new primary when a failover keeps the connections to the former one", function* () {
    const [former, primary] = [yield* privatePostgres(), yield* privatePostgres()]
    const network = yield* Effect.acquireRelease(
      Effect.promise(() => Proxy.of(former.url)),
      (proxy) => Effect.promise(() => proxy.close())
    )
    const other = yield* replicaOf(primary.url)
    const repo = yield* replicaOf(network.through(former.url))
    // Several connections, of which one will find out.
    yield* Effect.replicateEffect(repo.ping, 5, together)
    expect(network.connections).toBeGreaterThan(4)

    const on = (server: { readonly url: string }, sql: string) => Effect.promise(() => queryPostgres(server.url, sql))
    yield* on(former, "alter system set default_transaction_read_only = on")
    yield* on(former, "select pg_reload_conf()")
    network.leadTo(primary.url)
    yield* repeatUntil(Effect.result(repo.ping), Result.isFailure)
    expect(yield* refusal(repo.createTeam(ops, DateTime.makeUnsafe(0)))).toBeInstanceOf(Unavailable)
    yield* Effect.replicateEffect(repo.ping, 20, together)
    yield* repo.createTeam(ops, DateTime.makeUnsafe(0))
    expect(yield* on(primary, "select team from webhook_trigger.teams")).toEqual([{ team: ops }])
    const heard = yield* Deferred.make<void>()
    yield* repo.listen(() => Deferred.doneUnsafe(heard, Exit.void))
    const publish = other.publish([{ _tag: "KeyTried", attempt: "a" }])
    yield* Effect.raceFirst(Deferred.await(heard), Effect.forever(Effect.delay(publish, "100 millis")))
  })

  it.live("is listened to over another connection when the first one falls silent at once", function* () {
    const url = yield* freshDatabase
    const options = sessionOf(Redacted.make(url))
    let clients = 0
    const connect = () => {
      const socket = options.connect()
      // It connects, and its statements do not arrive.
      if (++clients === 1) {
        const write = socket.write.bind(socket)
        socket.write = (startup: Uint8Array) => {
          socket.write = () => true
          return write(startup)
        }
      }
      return socket
    }
    const notifications = yield* listen({ ...options, connect })
    const heard = yield* Deferred.make<string>()
    yield* notifications.listen((payload) => Deferred.doneUnsafe(heard, Exit.succeed(payload)))
    const notify = Effect.promise(() => queryPostgres(url, `select pg_notify('${channel}', 'hello')`))
    yield* Effect.raceFirst(Deferred.await(heard), Effect.forever(Effect.delay(notify, "100 millis")))
    expect(clients).toBeGreaterThan(1)
  })
})
