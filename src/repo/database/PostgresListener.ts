import { Deferred, Effect, Queue, Schedule, type Scope } from "effect"
import { SqlError } from "effect/sql"
import { causeOf } from "./Database.ts"
import { openSession, type SessionOptions } from "./Driver.ts"
import { channel, makeListeners, type Notifications } from "./Notifications.ts"

const probeEvery = "5 seconds"
/**
 * Who listens has this lock, shared, and lets the others know when it begins. Every role sees all locks, and those of a process
 * end with its session.
 */
const lock = [0x77686b, 1] as const
const begins = "ListenerBegins"

/** Milliseconds: a connection that is silent for longer counts as dead. */
const silence = 3_000

const backoff = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("500 millis")]).pipe(
  Schedule.jittered
)

/**
 * A permanent session that listens on our channel. It is replaced when its connection breaks, goes
 * silent, or leads to a read-only server after a failover. Succeeds after the first attempt to listen, even a failed one.
 *
 * It is alone if nobody else has the lock, as it sees after each probe, and nobody has begun since then.
 */
export const listen = (options: SessionOptions): Effect.Effect<Notifications["Service"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = makeListeners()
    const attempted = yield* Deferred.make<void>()
    let interrupted = false
    let isAlone = false
    let othersBegun = 0

    const hear = (payload: string) => {
      if (payload !== begins) return listeners.notify(payload)
      othersBegun++
      isAlone = false
    }

    const openOnce = Effect.gen(function* () {
      const session = yield* openSession({ ...options, silence })
      const heard = yield* session.listen(channel)
      const hearAll = Effect.map(Queue.clear(heard), (all) => {
        for (const { payload } of all) hear(payload)
      })
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          isAlone = false
          // Does not wait for a server that may not answer.
          session.cut()
        })
      )
      /** Whether this one is alone. Fails if the server does not write. */
      const look = Effect.gen(function* () {
        yield* hearAll
        const begunBefore = othersBegun
        const [found] = yield* session.execute(state, [])
        yield* hearAll
        if (found!.readonly) return yield* Effect.fail(new Error("the database is read-only"))
        return !found!.others && othersBegun === begunBefore
      })
      const lookForOthers = Effect.map(look, (seesNone) => {
        isAlone = seesNone
      })
      yield* look
      yield* session.execute(`select pg_advisory_lock_shared(${lock.join(", ")})`, [])
      yield* session.execute(`select pg_notify('${channel}', '${begins}')`, [])
      yield* lookForOthers
      yield* Deferred.succeed(attempted, undefined)
      if (interrupted) yield* Effect.logInfo("Notifications from the database are back")
      interrupted = false
      const probe = Effect.delay(lookForOthers, probeEvery)
      const hearNext = Effect.map(Queue.take(heard), ({ payload }) => hear(payload))
      yield* Effect.raceFirst(Effect.forever(hearNext), Effect.forever(probe))
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

const state = `
  select current_setting('transaction_read_only') = 'on' as readonly, exists (
    select from pg_locks where locktype = 'advisory' and classid = ${lock[0]} and objid = ${lock[1]} and objsubid = 2
      and database = (select oid from pg_database where datname = current_database()) and pid <> pg_backend_pid()
  ) as others`

const reasonOf = (error: Error): string => {
  const cause = SqlError.isSqlError(error) ? causeOf(error) : error
  return cause instanceof Error ? cause.message : String(cause)
}
