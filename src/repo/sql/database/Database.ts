import { Cause, type Context, Effect, Exit } from "effect"
import { SqlError } from "effect/sql"
import { Runtime } from "effect"
import { Unavailable } from "../../../domain/Errors.ts"

/** Maximum duration of an operation, whatever the database's state, in milliseconds. */
const limit = 10_000

const isSqlError = (error: unknown): error is SqlError.SqlError => error instanceof SqlError.SqlError

const fieldOf = (error: SqlError.SqlError, name: string): string | undefined => {
  const cause = error.cause
  const value = typeof cause === "object" && cause !== null ? Reflect.get(cause, name) : undefined
  return typeof value === "string" ? value : undefined
}

/** PostgreSQL's SQLSTATE (its manual's appendix A), or the operating system's code for a lost connection. */
const codeOf = (error: SqlError.SqlError): string => fieldOf(error, "code") ?? ""

/**
 * No rights, no such table or column: for instance, a database that is being restored. It may work again in a moment.
 */
const temporary: ReadonlySet<string> = new Set(["42501", "42P01", "42703", "3F000"])

/** A value or a row that the statement was not written for. Trying again changes nothing. */
const isDefect = (error: SqlError.SqlError): boolean =>
  /^(22|23|42)[0-9A-Z]{3}$/.test(codeOf(error)) && !temporary.has(codeOf(error))

/** A deadlock: the database ended this statement. */
const isDeadlock = (error: SqlError.SqlError): boolean => ["40P01", "40001"].includes(codeOf(error))

/** The row that this one refers to does not exist. */
export const isDangling = (error: SqlError.SqlError): boolean => codeOf(error) === "23503"

/** The statement may have been executed nevertheless. */
export const unavailable = (detail: string) => new Unavailable({ what: "database", detail })

const neverSent = new WeakSet<Error>()

/** Marks a driver's error: there was no connection, and no statement was sent. */
export const setNeverSent = (error: Error): void => {
  neverSent.add(error)
}

/** The connection ended, or a proxy answered for the database: it may have committed before. */
const mayFollowCommit = /^(08|25P03|40003|57P|58|XX)/

/** Nothing was or will be committed: the database did not get the statement, or refused it. */
const isNotDone = (error: SqlError.SqlError): boolean => {
  if (error.cause instanceof Error && neverSent.has(error.cause)) return true
  return fieldOf(error, "severity") !== undefined && !mayFollowCommit.test(codeOf(error))
}

const refuse = (error: SqlError.SqlError): Effect.Effect<never, Unavailable> => {
  const code = codeOf(error)
  const answer = isDefect(error)
    ? // Neither message nor detail: they quote values.
      Effect.die(new Error(`the database refused a statement: SQLSTATE ${[code, ...partsOf(error)].join(", ")}`))
    : Effect.fail(outOfReach(error))
  return Effect.logDebug("A statement failed", fieldOf(error, "message") ?? error.message).pipe(
    Effect.annotateLogs({ code }),
    Effect.andThen(answer)
  )
}

const outOfReach = (error: SqlError.SqlError): Unavailable => {
  const code = codeOf(error)
  const detail = `The database is out of reach${code === "" ? "" : ` (${code})`}.`
  return isNotDone(error) ? new Unavailable({ what: "database", detail, not_done: true }) : unavailable(detail)
}

const partsOf = (error: SqlError.SqlError): ReadonlyArray<string> =>
  ["table", "constraint", "routine"].flatMap((name) => fieldOf(error, name) ?? [])

/** Milliseconds before each attempt after a deadlock. */
const attemptsAfterDeadlock = 3
const pauseAfterDeadlock = 20

const afterPause = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.delay(effect, pauseAfterDeadlock * (0.8 + 0.4 * Math.random()))

const tooLate = unavailable("The database does not answer in time.")

/**
 * Runs statements in bounded time, after a deadlock up to three times more. An unreachable database becomes
 * `Unavailable`. A refused statement is a defect, with PostgreSQL's code and none of the values.
 *
 * Fails after the time limit, without waiting for the statement's end. Uses the process's own time, since a test clock
 * does not make the database faster. Continues with callbacks: each run waits for several statements, and Effect's
 * operators would cost as much as a statement.
 */
export const bounded = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R> => attempt(effect, attemptsAfterDeadlock)

const attempt = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  attemptsLeft: number
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R> =>
  Effect.withFiber((caller, { runtimeFlags }) => {
    const runtime = Runtime.make({
      context: caller.context as Context.Context<R>,
      fiberRefs: caller.getFiberRefs(),
      runtimeFlags
    })
    return Effect.callback((resume) => {
      const fiber = Runtime.runFork(runtime)(effect)
      const timer = setTimeout(() => {
        fiber.interruptUnsafe(fiber.id())
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
      return Effect.sync(() => fiber.interruptUnsafe())
    })
  })

/** Also as a defect, which `withTransaction` makes of a connection that is lost at the commit. */
const sqlErrorOf = (cause: Cause.Cause<unknown>): SqlError.SqlError | undefined => {
  const error = Cause.squash(cause)
  return isSqlError(error) ? error : undefined
}
