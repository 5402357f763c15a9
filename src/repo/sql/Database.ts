import { SqlError } from "@effect/sql"
import { Context, Effect, Fiber, Runtime, Schedule, type Scope } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import { retry } from "../../engine/Retry.ts"

/** The channel of PostgreSQL's NOTIFY that is ours; channels belong to one database. */
export const channel = "webhook_trigger"

/**
 * What is told on our channel, by this process too. A connection that breaks loses some: they only wake. Made by whoever
 * makes the connection: `PostgresClient.layer` and `PgliteClient.layer`.
 */
export class Notifications extends Context.Tag("webhook-trigger/Notifications")<
  Notifications,
  {
    /** Calls `heed` with every payload, until the scope closes. */
    readonly listen: (heed: (payload: string) => void) => Effect.Effect<void, never, Scope.Scope>
  }
>() {}

/** No operation takes longer, whatever state the database is in. Milliseconds. */
const limit = 10_000

const isSqlError = (error: unknown): error is SqlError.SqlError => error instanceof SqlError.SqlError

const fieldOf = (error: SqlError.SqlError, name: string): string | undefined => {
  const cause = error.cause
  const value = typeof cause === "object" && cause !== null ? Reflect.get(cause, name) : undefined
  return typeof value === "string" ? value : undefined
}

/** PostgreSQL's SQLSTATE (its manual's appendix A), or the operating system's word for a lost connection. */
const codeOf = (error: SqlError.SqlError): string => fieldOf(error, "code") ?? ""

/** No rights, no such table or column: a database that is being restored, say. It may be right again in a moment. */
const passing: ReadonlySet<string> = new Set(["42501", "42P01", "42703", "3F000"])

/** The statement met a value or a row that it was not written for: trying again changes nothing. */
export const isOurFault = (error: SqlError.SqlError): boolean =>
  /^(22|23|42)[0-9A-Z]{3}$/.test(codeOf(error)) && !passing.has(codeOf(error))

/** Two statements waited for each other, and the database ended this one. */
export const isDeadlock = (error: SqlError.SqlError): boolean => ["40P01", "40001"].includes(codeOf(error))

/** The row that this one points at is not there. */
export const isDangling = (error: SqlError.SqlError): boolean => codeOf(error) === "23503"

export const unavailable = (detail: string) => new Unavailable({ what: "database", detail })

const refuse = (error: SqlError.SqlError): Effect.Effect<never, Unavailable> => {
  const code = codeOf(error)
  const answer = isOurFault(error)
    ? // Neither the message nor the detail: they quote values.
      Effect.die(new Error(`the database refused a statement: SQLSTATE ${[code, ...partsOf(error)].join(", ")}`))
    : Effect.fail(unavailable(`The database is out of reach${code === "" ? "" : ` (${code})`}.`))
  return Effect.logDebug("A statement failed", fieldOf(error, "message") ?? error.message).pipe(
    Effect.annotateLogs({ code }),
    Effect.zipRight(answer)
  )
}

const partsOf = (error: SqlError.SqlError): ReadonlyArray<string> =>
  ["table", "constraint", "routine"].flatMap((name) => fieldOf(error, name) ?? [])

const afterDeadlock = Schedule.intersect(Schedule.recurs(3), Schedule.jittered(Schedule.spaced("20 millis"))).pipe(
  Schedule.whileInput((error: unknown) => isSqlError(error) && isDeadlock(error))
)

/**
 * Fails when the effect takes too long, without waiting for its end. In the process's own time: a test that turns the
 * clock on does not speed the database up.
 */
const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) =>
    Effect.async((resume) => {
      const fiber = Runtime.runFork(runtime)(effect)
      const timer = setTimeout(() => {
        fiber.unsafeInterruptAsFork(fiber.id())
        resume(Effect.fail(unavailable("The database does not answer in time.")))
      }, limit)
      fiber.addObserver((exit) => {
        clearTimeout(timer)
        resume(exit)
      })
      return Fiber.interruptFork(fiber)
    })
  )

/**
 * Runs statements within a bounded time. A database out of reach becomes `Unavailable`; a fault of ours dies, with
 * PostgreSQL's code and no word of the values.
 */
export const bounded = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R> =>
  effect.pipe(
    // `withTransaction` makes a defect of a connection that is lost at the commit.
    Effect.catchAllDefect((defect) => (isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
    retry(afterDeadlock),
    inTime,
    Effect.catchAll((error) => (isSqlError(error) ? refuse(error) : Effect.fail(error)))
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R>
