import { type Context, Deferred, Effect, Schedule, type Scope } from "effect"
import type pg from "pg"
import { channel, type Notifications } from "./Notifications.ts"
import { readOnly } from "./Session.ts"

const probeEvery = "5 seconds"
/** A connection that is silent for longer counts as dead. */
const answerTimeout = "3 seconds"

const backoff = Schedule.exponential("100 millis").pipe(
  Schedule.union(Schedule.spaced("500 millis")),
  Schedule.jittered
)

/**
 * A permanent session that listens on our channel. It is replaced when its connection breaks, goes
 * silent, or leads to a read-only server after a failover. Succeeds after the first attempt to listen, even a failed one.
 * (`PgClient.listen` stays silent after a restart of PostgreSQL.)
 */
export const openSession = (
  connect: () => pg.Client
): Effect.Effect<Context.Tag.Service<Notifications>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = new Set<(payload: string) => void>()
    const attempted = yield* Deferred.make<void>()
    let interrupted = false

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
      yield* Deferred.succeed(attempted, undefined)
      if (interrupted) yield* Effect.logInfo("Notifications from the database are back")
      interrupted = false
      const probe = Effect.delay(requireWrites(client), probeEvery)
      yield* Effect.raceFirst(Deferred.await(broken), Effect.forever(probe))
    }).pipe(Effect.scoped)

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

    return {
      listen: (handle) =>
        Effect.acquireRelease(
          Effect.sync(() => listeners.add(handle)),
          () => Effect.sync(() => listeners.delete(handle))
        )
    }
  })

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
