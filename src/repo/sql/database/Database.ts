import { SqlError } from "@effect/sql"
import { Cause, type Context, Effect, Exit, Fiber, Runtime } from "effect"
import { Unavailable } from "../../../domain/Errors.ts"

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
const isDeadlock = (error: SqlError.SqlError): boolean => ["40P01", "40001"].includes(codeOf(error))

/** The row that this one points at is not there. */
export const isDangling = (error: SqlError.SqlError): boolean => codeOf(error) === "23503"

/** The statement may have been executed nevertheless. */
export const unavailable = (detail: string) => new Unavailable({ what: "database", detail })

const neverSent = new WeakSet<Error>()

/** Marks a driver's error as having had no connection: no statement was sent. */
export const setNeverSent = (error: Error): void => {
  neverSent.add(error)
}

/** The connection ended, or a proxy in front of the database answered: a commit may have come before that. */
const mayFollowCommit = /^(08|25P03|40003|57P|58|XX)/

/** Nothing was committed, and nothing will be: the database did not get the statement, or refused it. */
const isNotDone = (error: SqlError.SqlError): boolean => {
  if (error.cause instanceof Error && neverSent.has(error.cause)) return true
  return fieldOf(error, "severity") !== undefined && !mayFollowCommit.test(codeOf(error))
}

const refuse = (error: SqlError.SqlError): Effect.Effect<never, Unavailable> => {
  const code = codeOf(error)
  const answer = isDefect(error)
    ? // Neither the message nor the detail: they quote values.
      Effect.die(new Error(`the database refused a statement: SQLSTATE ${[code, ...partsOf(error)].join(", ")}`))
    : Effect.fail(outOfReach(error))
  return Effect.logDebug("A statement failed", fieldOf(error, "message") ?? error.message).pipe(
    Effect.annotateLogs({ code }),
    Effect.zipRight(answer)
  )
}

const outOfReach = (error: SqlError.SqlError): Unavailable => {
  const code = codeOf(error)
  const detail = `The database is out of reach${code === "" ? "" : ` (${code})`}.`
  return isNotDone(error) ? new Unavailable({ what: "database", detail, not_done: true }) : unavailable(detail)
}

const partsOf = (error: SqlError.SqlError): ReadonlyArray<string> =>
  ["table", "constraint", "routine"].flatMap((name) => fieldOf(error, name) ?? [])

/** Attempts after a deadlock, and milliseconds before each of them. */
const attemptsAfterDeadlock = 3
const pauseAfterDeadlock = 20

const afterPause = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.delay(effect, pauseAfterDeadlock * (0.8 + 0.4 * Math.random()))

const tooLate = unavailable("The database does not answer in time.")

/**
 * Runs statements within a bounded time, after a deadlock up to three times more. A database out of reach becomes
 * `Unavailable`; a statement that the database refuses is a defect, with PostgreSQL's code and none of the values.
 *
 * Fails when it takes too long, without waiting for the end of the statement. In the process's own time: a test that turns
 * the clock on does not speed the database up. What comes after the statement is decided by callbacks, since each run waits
 * for several statements, and Effect's operators for it cost as much as the statement.
 */
export const bounded = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R> => attempt(effect, attemptsAfterDeadlock)

const attempt = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  attemptsLeft: number
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R> =>
  Effect.withFiberRuntime((caller, { runtimeFlags }) => {
    const runtime = Runtime.make({
      context: caller.currentContext as Context.Context<R>,
      fiberRefs: caller.getFiberRefs(),
      runtimeFlags
    })
    return Effect.async((resume) => {
      const fiber = Runtime.runFork(runtime)(effect)
      const timer = setTimeout(() => {
        fiber.unsafeInterruptAsFork(fiber.id())
        resume(Effect.fail(tooLate))
      }, limit)
      fiber.addObserver((exit) => {
        clearTimeout(timer)
        const error = Exit.isSuccess(exit) ? undefined : sqlErrorOf(exit.cause)
        if (error === undefined) return resume(exit as Exit.Exit<A, Exclude<E, SqlError.SqlError>>)
        return resume(
          isDeadlock(error) && attemptsLeft > 0 ? afterPause(attempt(effect, attemptsLeft - 1)) : refuse(error)
        )
      })
      return Fiber.interruptFork(fiber)
    })
  })

/** Also as a defect: `withTransaction` turns a connection that is lost at the commit into one. */
const sqlErrorOf = (cause: Cause.Cause<unknown>): SqlError.SqlError | undefined => {
  const error = Cause.squash(cause)
  return isSqlError(error) ? error : undefined
}
