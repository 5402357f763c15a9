import { SqlError } from "@effect/sql"
import { Effect, Fiber, Runtime, Schedule } from "effect"
import { Unavailable } from "../../domain/Errors.ts"

/** No operation takes longer, whatever state the database is in. Milliseconds. */
const limit = 10_000

const isSqlError = (error: unknown): error is SqlError.SqlError => error instanceof SqlError.SqlError

const fieldOf = (error: SqlError.SqlError, name: string): string | undefined => {
  const cause = error.cause
  const value = typeof cause === "object" && cause !== null ? Reflect.get(cause, name) : undefined
  return typeof value === "string" ? value : undefined
}

/** PostgreSQL's SQLSTATE (its manual's appendix A), or the operating system's code for a lost connection. */
const codeOf = (error: SqlError.SqlError): string => fieldOf(error, "code") ?? ""

/** No rights, no such table or column: a database that is being restored, say. It may be right again in a moment. */
const temporary: ReadonlySet<string> = new Set(["42501", "42P01", "42703", "3F000"])

/** The statement met a value or a row that it was not written for: trying again changes nothing. */
const isDefect = (error: SqlError.SqlError): boolean =>
  /^(22|23|42)[0-9A-Z]{3}$/.test(codeOf(error)) && !temporary.has(codeOf(error))

/** Two statements waited for each other, and the database ended this one. */
const isDeadlock = (error: unknown): boolean => isSqlError(error) && ["40P01", "40001"].includes(codeOf(error))

/** The row that this one points at is not there. */
export const isDangling = (error: SqlError.SqlError): boolean => codeOf(error) === "23503"

export const unavailable = (detail: string) => new Unavailable({ what: "database", detail })

const refuse = (error: SqlError.SqlError): Effect.Effect<never, Unavailable> => {
  const code = codeOf(error)
  const answer = isDefect(error)
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

const afterDeadlock = Schedule.intersect(Schedule.recurs(2), Schedule.jittered(Schedule.spaced("20 millis"))).pipe(
  Schedule.whileInput(isDeadlock)
)

/**
 * Tries three more times after a deadlock. The retries are set up by the first failure: Effect sets a schedule up before
 * the first try, and that alone was a third of all the work for a run.
 */
const retryDeadlock = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchIf(effect, isDeadlock, () => Effect.retry(Effect.delay(effect, "20 millis"), afterDeadlock))

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
 * Runs statements within a bounded time. A database out of reach becomes `Unavailable`; a statement that the database
 * refuses is a defect, with PostgreSQL's code and none of the values.
 */
export const bounded = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R> =>
  effect.pipe(
    // `withTransaction` turns a connection that is lost at the commit into a defect.
    Effect.catchAllDefect((defect) => (isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
    retryDeadlock,
    inTime,
    Effect.catchAll((error) => (isSqlError(error) ? refuse(error) : Effect.fail(error)))
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R>
