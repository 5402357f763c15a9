import { type Context, Deferred, Effect, Schedule, type Scope } from "effect"
import type pg from "pg"
import { channel, type Notifications } from "./Notifications.ts"
import { readOnly } from "./Session.ts"
import { lockClass, type SessionLocks } from "./SessionLocks.ts"

const probeEvery = "5 seconds"
/** A connection that is silent for longer counts as dead. */
const answerTimeout = "3 seconds"

const backoff = Schedule.exponential("100 millis").pipe(
  Schedule.union(Schedule.spaced("500 millis")),
  Schedule.jittered
)

/**
 * A permanent session that listens on our channel and holds our locks. It is replaced when its connection breaks, goes
 * silent, or leads to a read-only server after a failover. Succeeds after the first attempt to listen, even a failed one.
 * (`PgClient.listen` stays silent after a restart of PostgreSQL.)
 */
export const openSession = (
  connect: () => pg.Client
): Effect.Effect<Context.Tag.Service<Notifications> & Context.Tag.Service<SessionLocks>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = new Set<(payload: string) => void>()
    const locks = new Map<number, Lock>()
    const attempted = yield* Deferred.make<void>()
    let interrupted = false
    let current: pg.Client | undefined

    /**
     * Requested by one caller at a time: a session that holds it would get it again, and keep it when it is released
     * once.
     */
    const lock = (client: pg.Client, id: number, state: Lock) =>
      answerOf(async () => {
        if (state.isHeld || state.askedOn === client || locks.get(id) !== state) return
        state.askedOn = client
        try {
          const { rows } = await client.query(`select pg_try_advisory_lock(${lockClass}, ${id}) as locked`)
          state.isHeld = rows[0].locked && client === current && locks.get(id) === state
        } finally {
          if (state.askedOn === client) state.askedOn = undefined
        }
      })
    /** Requests the locks that are not held at the moment. */
    const lockAll = (client: pg.Client) =>
      Effect.suspend(() =>
        Effect.forEach(
          [...locks].filter(([, { isHeld }]) => !isHeld),
          ([id, state]) => lock(client, id, state),
          { discard: true }
        )
      )
    const ended = Effect.sync(() => {
      current = undefined
      for (const state of locks.values()) state.isHeld = false
    })

    const openOnce = Effect.gen(function* () {
      const broken = yield* Deferred.make<never, unknown>()
      const client = yield* Effect.acquireRelease(Effect.try(connect), close)
      client.on("error", (error) => Deferred.unsafeDone(broken, Effect.fail(error)))
      client.on("end", () => Deferred.unsafeDone(broken, Effect.fail(new Error("the connection ended"))))
      client.on("notification", ({ payload }) => {
        if (payload) for (const handle of listeners) handle(payload)
      })
      yield* Effect.tryPromise(() => client.connect())
      yield* requireWrites(client)
      yield* query(client, `listen ${channel}`)
      current = client
      yield* lockAll(client)
      yield* Deferred.succeed(attempted, undefined)
      if (interrupted) yield* Effect.logInfo("Notifications from the database are back")
      interrupted = false
      const probe = Effect.delay(Effect.zipRight(requireWrites(client), lockAll(client)), probeEvery)
      yield* Effect.raceFirst(Deferred.await(broken), Effect.forever(probe))
    }).pipe(Effect.ensuring(ended), Effect.scoped)

    yield* openOnce.pipe(
      Effect.tapError((error) => {
        const log = interrupted
          ? Effect.void
          : Effect.logWarning(`Notifications from the database are interrupted: ${reasonOf(error)}`)
        interrupted = true
        return Effect.zipRight(log, Deferred.succeed(attempted, undefined))
      }),
      Effect.retry(backoff),
      Effect.forkScoped
    )
    yield* Deferred.await(attempted)

    const release = (id: number) =>
      Effect.suspend(() => {
        locks.delete(id)
        return current === undefined
          ? Effect.void
          : Effect.ignore(query(current, `select pg_advisory_unlock(${lockClass}, ${id})`))
      })

    return {
      listen: (handle) =>
        Effect.acquireRelease(
          Effect.sync(() => listeners.add(handle)),
          () => Effect.sync(() => listeners.delete(handle))
        ),
      hold: (id) =>
        Effect.gen(function* () {
          const state: Lock = { isHeld: false, askedOn: undefined }
          yield* Effect.acquireRelease(
            Effect.sync(() => locks.set(id, state)),
            () => release(id)
          )
          // If that fails, the session is replaced, and the new one gets the lock.
          if (current !== undefined) yield* Effect.ignore(lock(current, id, state))
          return () => state.isHeld
        })
    }
  })

/** A lock that this process wants. */
interface Lock {
  isHeld: boolean
  /** The session that has not answered yet. */
  askedOn: pg.Client | undefined
}

const answerOf = <A>(ask: () => Promise<A>) => Effect.timeout(Effect.tryPromise(ask), answerTimeout)

const query = (client: pg.Client, sql: string) => answerOf(() => client.query(sql))

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
