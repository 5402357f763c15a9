import { HttpClientError } from "@effect/platform"
import { Data, Effect, ParseResult, Schema } from "effect"
import { hasProperty } from "effect/Predicate"
import { Fault } from "../domain/Errors.ts"

/** The exit codes of a command that did not work. `docs/cli.md` promises these. */
export const exitCodes = { refused: 1, usage: 2, outOfReach: 3, runFailed: 4, runTimedOut: 5 } as const

/** A command did not work; this is printed for the user on standard error. */
export class Failure extends Data.TaggedError("CliFailure")<{
  /** One of `exitCodes`, except for that of a process that ended unexpectedly. */
  readonly exit: number
  readonly title: string
  readonly detail?: string
  readonly faults?: ReadonlyArray<Fault>
  /** The server's own document, for `--json`. */
  readonly body?: unknown
}> {}

export const usage = (detail: string, faults?: ReadonlyArray<Fault>) =>
  new Failure({ exit: exitCodes.usage, title: "Wrong usage", detail, ...(faults && { faults }) })

/** As people read it: one line, and one more for each fault. */
export const describe = ({ title, detail, faults }: Failure): string =>
  [
    detail === undefined || detail === title ? title : `${title}: ${detail}`,
    ...(faults ?? []).map((fault) => `  ${fault.pointer === "" ? "" : `${fault.pointer}  `}${fault.detail}`)
  ].join("\n")

/** As programs read it: the server's body when it sent one, else an object of the same form. */
export const toJson = (failure: Failure): unknown =>
  failure.body ?? { title: failure.title, detail: failure.detail, errors: failure.faults }

const Problem = Schema.Struct({
  title: Schema.String,
  status: Schema.Number,
  code: Schema.String,
  detail: Schema.String,
  errors: Schema.optionalWith(Schema.Array(Fault), { exact: true })
})
const isProblem = Schema.is(Problem)

/** The server's text, except where it is about HTTP headers and addresses that the user of a command never sees. */
const textOf = ({ code, detail, errors, status, title }: typeof Problem.Type, notFound: string | undefined) => {
  if (status === 404 && notFound !== undefined) return { title: notFound }
  if (code === "unauthorized") return { title, detail: "set ADMIN_API_KEY, or give --admin-key" }
  return errors === undefined ? { title, detail } : { title, faults: errors }
}

/** 502: the run that the command waited for ended as an error. */
const exitOf = (status: number): Failure["exit"] => {
  switch (status) {
    case 502:
      return exitCodes.runFailed
    case 503:
      return exitCodes.outOfReach
    default:
      return exitCodes.refused
  }
}

const fromProblem = (body: typeof Problem.Type, notFound: string | undefined): Failure =>
  new Failure({ exit: exitOf(body.status), ...textOf(body, notFound), body })

const unexpected = (url: string, status?: number) =>
  new Failure({
    exit: exitCodes.refused,
    title: `Unexpected response${status === undefined ? "" : ` ${status}`} from ${url}`,
    detail: "is a webhook-trigger server of this version there?"
  })

const unreachable = (url: string, cause: unknown): Failure => {
  const inner = hasProperty(cause, "cause") ? cause.cause : cause
  const why = hasProperty(inner, "code") ? inner.code : cause
  return new Failure({
    exit: exitCodes.outOfReach,
    title: `No server answers at ${url} (${why})`,
    detail: "start one with `webhook-trigger serve`, or set its address with --url or WEBHOOK_TRIGGER_URL"
  })
}

/**
 * Turns an error of the typed client into a `Failure`; `notFound` is the title for a 404. The outcome of a run is
 * `Outcome.ts`'s to report.
 */
export const fromClient =
  (url: string, notFound: string | undefined) =>
  (error: unknown): Effect.Effect<Failure> => {
    if (error instanceof Failure) return Effect.succeed(error)
    if (isProblem(error)) return Effect.succeed(fromProblem(error, notFound))
    if (error instanceof HttpClientError.RequestError) return Effect.succeed(unreachable(url, error.cause))
    if (error instanceof HttpClientError.ResponseError) {
      const { response } = error
      return response.json.pipe(
        Effect.option,
        Effect.map((body) =>
          body._tag === "Some" && isProblem(body.value)
            ? fromProblem(body.value, notFound)
            : unexpected(url, response.status)
        )
      )
    }
    if (ParseResult.isParseError(error)) return Effect.succeed(unexpected(url))
    return Effect.die(error)
  }
