import { Cause, type Context, Effect, Exit } from "effect"
import { SqlError } from "effect/sql"
import { Unavailable } from "../../domain/Errors.ts"

/** `on` for a replica, and for a former primary to which a failover has left connections. */
export const readOnly = "current_setting('transaction_read_only')"

/** Maximum duration of an operation, whatever the database's state, in milliseconds. */
const limit = 10_000

/** PostgreSQL's error, or the network's. */
export const causeOf = (error: SqlError.SqlError): unknown => error.reason.cause

const fieldOf = (cause: unknown, name: string): string | undefined => {
  const value = typeof cause === "object" && cause !== null ? Reflect.get(cause, name) : undefined
  return typeof value === "string" ? value : undefined
}

/** PostgreSQL's SQLSTATE (its manual's appendix A), or the operating system's code for a lost connection. */
export const codeOf = (cause: unknown): string => fieldOf(cause, "code") ?? ""

/**
 * No rights, no such table or column: for instance, a database that is being restored. It may work again in a moment.
 */
const temporary: ReadonlySet<string> = new Set(["42501", "42P01", "42703", "3F000"])

/** A value or a row that the statement was not written for. Trying again changes nothing. */
const isDefect = (code: string): boolean => /^(22|23|42)[0-9A-Z]{3}$/.test(code) && !temporary.has(code)

/** A deadlock: the database ended this statement. */
const isDeadlock = (error: SqlError.SqlError): boolean => ["40P01", "40001"].includes(codeOf(causeOf(error)))

/** The row that this one refers to does not exist. */
export const isDangling = (error: SqlError.SqlError): boolean => codeOf(causeOf(error)) === "23503"

/** The statement may have been executed nevertheless. */
export const unavailable = (detail: string) => new Unavailable({ what: "database", detail })

/** The connection ended, or a proxy answered for the database: it may have committed before. */
const mayFollowCommit = /^(08|25P03|40003|57P|58|XX)/

/** Nothing was or will be committed: the database did not get the statement, or refused it. */
const isNotDone = ({ reason }: SqlError.SqlError): boolean =>
  reason.operation === "connect" ||
  (fieldOf(reason.cause, "severity") !== undefined && !mayFollowCommit.test(codeOf(reason.cause)))

const refuse = (error: SqlError.SqlError): Effect.Effect<never, Unavailable> => {
  const cause = causeOf(error)
  const code = codeOf(cause)
  const parts = ["table", "constraint", "routine"].flatMap((name) => fieldOf(cause, name) ?? [])
  const answer = isDefect(code)
    ? // Neither message nor detail: they quote values.
      Effect.die(new Error(`the database refused a statement: SQLSTATE ${[code, ...parts].join(", ")}`))
    : Effect.fail(outOfReach(error))
  return Effect.logDebug("A statement failed", fieldOf(cause, "message") ?? error.message).pipe(
    Effect.annotateLogs({ code }),
    Effect.andThen(answer)
  )
}

const outOfReach = (error: SqlError.SqlError): Unavailable => {
  const code = codeOf(causeOf(error))
  const detail = `The database is out of reach${code === "" ? "" : ` (${code})`}.`
  return isNotDone(error) ? new Unavailable({ what: "database", detail, not_done: true }) : unavailable(detail)
}

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
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R> => boundedBy(limit)(effect)

/** The same, in so many milliseconds. */
export const boundedBy =
  (milliseconds: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R> =>
    attempt(effect, attemptsAfterDeadlock, milliseconds)

const attempt = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  attemptsLeft: number,
  milliseconds: number
): Effect.Effect<A, Exclude<E, SqlError.SqlError> | Unavailable, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback((resume) => {
      const fiber = Effect.runForkWith(context)(effect)
      const timer = setTimeout(() => {
        resume(Effect.fail(tooLate))
        fiber.interruptUnsafe()
      }, milliseconds)
      fiber.addObserver((exit) => {
        clearTimeout(timer)
        const error = Exit.isSuccess(exit) ? undefined : sqlErrorOf(exit.cause)
        if (error === undefined) return resume(exit as Exit.Exit<A, Exclude<E, SqlError.SqlError>>)
        return resume(
          isDeadlock(error) && attemptsLeft > 0
            ? afterPause(attempt(effect, attemptsLeft - 1, milliseconds))
            : refuse(error)
        )
      })
      return Effect.sync(() => fiber.interruptUnsafe())
    })
  )

/** Also as a defect, which `withTransaction` makes of a connection that is lost at the commit. */
export const sqlErrorOf = (cause: Cause.Cause<unknown>): SqlError.SqlError | undefined => {
  const error = Cause.squash(cause)
  return SqlError.isSqlError(error) ? error : undefined
}
