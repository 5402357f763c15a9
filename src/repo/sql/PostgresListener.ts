import { type Context, Deferred, Effect, Redacted, Schedule, type Scope } from "effect"
import pg from "pg"
import { channel, type Notifications } from "./Notifications.ts"

/** How every connection of ours is opened. */
export const connection = (url: Redacted.Redacted): pg.ClientConfig => ({
  connectionString: Redacted.value(url),
  application_name: "webhook-trigger",
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000
})

const probeEvery = "5 seconds"
/** A connection that is silent for longer is taken for dead. */
const answerTimeout = "3 seconds"

const backoff = Schedule.exponential("100 millis").pipe(Schedule.union(Schedule.spaced("2 seconds")), Schedule.jittered)

/**
 * Listens on our channel over a connection of its own, forever: a connection that breaks, or goes silent, is replaced.
 * Succeeds when it listens for the first time, or has failed to. (`PgClient.listen` stays silent after a restart of
 * PostgreSQL.)
 */
export const listenOn = (
  connect: () => pg.Client
): Effect.Effect<Context.Tag.Service<Notifications>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = new Set<(payload: string) => void>()
    const attempted = yield* Deferred.make<void>()
    let interrupted = false

    const listenOnce = Effect.gen(function* () {
      const broken = yield* Deferred.make<never, unknown>()
      const client = yield* Effect.acquireRelease(Effect.sync(connect), close)
      client.on("error", (error) => Deferred.unsafeDone(broken, Effect.fail(error)))
      client.on("end", () => Deferred.unsafeDone(broken, Effect.fail(new Error("the connection ended"))))
      client.on("notification", ({ payload }) => {
        if (payload) for (const handle of listeners) handle(payload)
      })
      yield* Effect.tryPromise(() => client.connect())
      yield* query(client, `listen ${channel}`)
      yield* Deferred.succeed(attempted, undefined)
      if (interrupted) yield* Effect.logInfo("Notifications from the database are back")
      interrupted = false
      const probe = Effect.delay(query(client, "select 1"), probeEvery)
      yield* Effect.raceFirst(Deferred.await(broken), Effect.forever(probe))
    }).pipe(Effect.scoped)

    yield* listenOnce.pipe(
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

/** Without waiting for a server that may not answer. */
const close = (client: pg.Client) =>
  Effect.sync(() => {
    client.end().catch(() => {})
    ;(client as any).connection.stream.destroy()
  })

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  return cause instanceof Error ? cause.message : String(cause)
}
