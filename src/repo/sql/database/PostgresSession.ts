import { type Context, Deferred, Effect, Option, Schedule, type Scope } from "effect"
import type pg from "pg"
import { channel, makeListeners, type Notifications } from "./Notifications.ts"
import { readOnly } from "./Session.ts"

const probeEvery = "5 seconds"
/**
 * Who listens has this lock, shared, and lets the others know when it begins. Every role sees all locks, and those of a process
 * end with its session.
 */
const lock = [0x77686b, 1] as const
const begins = "ListenerBegins"

/** A connection that is silent for longer counts as dead. */
const answerTimeout = "3 seconds"

const backoff = Schedule.exponential("100 millis").pipe(
  Schedule.min(Schedule.spaced("500 millis")),
  Schedule.jittered
)

/**
 * A permanent session that listens on our channel. It is replaced when its connection breaks, goes
 * silent, or leads to a read-only server after a failover. Succeeds after the first attempt to listen, even a failed one.
 * (`PgClient.listen` stays silent after a restart of PostgreSQL.)
 *
 * It is alone if nobody else has the lock, as it sees after each probe, and nobody has begun since then.
 */
export const openSession = (
  connect: () => pg.Client
): Effect.Effect<Context.Service.Shape<Notifications>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = makeListeners()
    const attempted = yield* Deferred.make<void>()
    let interrupted = false
    let isAlone = false
    let othersBegun = 0

    const lookForOthers = (client: pg.Client) =>
      Effect.suspend(() => {
        const begunBefore = othersBegun
        return Effect.map(Effect.option(query(client, others)), (found) => {
          isAlone = Option.isSome(found) && found.value.rows.length === 0 && othersBegun === begunBefore
        })
      })

    const openOnce = Effect.gen(function* () {
      const broken = yield* Deferred.make<never, unknown>()
      const client = yield* Effect.acquireRelease(Effect.try(connect), close)
      client.on("error", (error) => Deferred.doneUnsafe(broken, Effect.fail(error)))
      client.on("end", () => Deferred.doneUnsafe(broken, Effect.fail(new Error("the connection ended"))))
      client.on("notification", ({ payload }) => {
        if (payload === begins) {
          othersBegun++
          isAlone = false
        } else if (payload) listeners.notify(payload)
      })
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          isAlone = false
        })
      )
      yield* Effect.tryPromise(() => client.connect())
      yield* requireWrites(client)
      yield* query(client, `listen ${channel}`)
      yield* query(client, `select pg_advisory_lock_shared(${lock.join(", ")})`)
      yield* query(client, `select pg_notify('${channel}', '${begins}')`)
      yield* lookForOthers(client)
      yield* Deferred.succeed(attempted, undefined)
      if (interrupted) yield* Effect.logInfo("Notifications from the database are back")
      interrupted = false
      const probe = Effect.delay(Effect.andThen(requireWrites(client), lookForOthers(client)), probeEvery)
      yield* Effect.raceFirst(Deferred.await(broken), Effect.forever(probe))
    }).pipe(Effect.scoped)

    yield* openOnce.pipe(
      Effect.tapError((error) => {
        const log = interrupted
          ? Effect.void
          : Effect.logWarning(`Notifications from the database are interrupted: ${reasonOf(error)}`)
        interrupted = true
        return Effect.andThen(log, Deferred.succeed(attempted, undefined))
      }),
      Effect.retry(backoff),
      Effect.forkScoped
    )
    yield* Deferred.await(attempted)

    return {
      listen: listeners.listen,
      deliver: (payload) => {
        if (isAlone) listeners.notify(payload)
        return isAlone
      }
    }
  })

const others = `
  select from pg_locks where locktype = 'advisory' and classid = ${lock[0]} and objid = ${lock[1]} and objsubid = 2
    and database = (select oid from pg_database where datname = current_database()) and pid <> pg_backend_pid()
  limit 1`

const query = (client: pg.Client, sql: string) =>
  Effect.timeout(
    Effect.tryPromise(() => client.query(sql)),
    answerTimeout
  )

const requireWrites = (client: pg.Client) =>
  Effect.filterOrFail(
    query(client, `select ${readOnly} as read_only`),
    ({ rows }) => rows[0].read_only !== "on",
    () => new Error("the database is read-only")
  )

/** Does not wait for a server that may not answer. */
const close = (client: pg.Client) =>
  Effect.sync(() => {
    client.end().catch(() => {})
    ;(client as any).connection.stream.destroy()
  })

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  return cause instanceof Error ? cause.message : String(cause)
}
