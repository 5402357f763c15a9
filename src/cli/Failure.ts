import { HttpClientError } from "@effect/platform"
import { Data, Effect, ParseResult, Schema } from "effect"
import { hasProperty } from "effect/Predicate"
import { Fault } from "../domain/Errors.ts"

/** What the shell sees of a command that did not work. `docs/cli.md` promises these. */
export const exitCodes = { refused: 1, usage: 2, outOfReach: 3, runFailed: 4, runTimedOut: 5 } as const

/** A command did not work; this is what to tell the user, on standard error. */
export class Failure extends Data.TaggedError("CliFailure")<{
  readonly exit: (typeof exitCodes)[keyof typeof exitCodes]
  readonly title: string
  readonly detail?: string
  readonly faults?: ReadonlyArray<Fault>
  /** The server's own words, for `--json`. */
  readonly body?: unknown
}> {}

export const usage = (detail: string, faults?: ReadonlyArray<Fault>) =>
  new Failure({ exit: exitCodes.usage, title: "Wrong usage", detail, ...(faults && { faults }) })

/** As people read it: a line, what it means, and each single fault. */
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
  detail: Schema.String,
  errors: Schema.optionalWith(Schema.Array(Fault), { exact: true })
})
const isProblem = Schema.is(Problem)

/** The server's words, but where they speak of HTTP to somebody who has written a command. */
const wordsFor = ({ detail, errors, status, title }: typeof Problem.Type, unknown: string | undefined) => {
  if (status === 404 && unknown !== undefined) return { title: unknown }
  if (status === 401) return { title, detail: "set ADMIN_API_KEY, or give --admin-key" }
  return errors === undefined ? { title, detail } : { title, faults: errors }
}

const fromProblem = (body: typeof Problem.Type, unknown: string | undefined): Failure =>
  new Failure({
    exit: body.status === 503 ? exitCodes.outOfReach : exitCodes.refused,
    ...wordsFor(body, unknown),
    body
  })

const notOurs = (url: string, status: number) =>
  new Failure({
    exit: exitCodes.refused,
    title: `Unexpected answer ${status} from ${url}`,
    detail: "is a webhook-trigger server of this version there?"
  })

const unreachable = (url: string, cause: unknown): Failure => {
  const inner = hasProperty(cause, "cause") ? cause.cause : cause
  const why = hasProperty(inner, "code") ? inner.code : cause
  return new Failure({
    exit: exitCodes.outOfReach,
    title: `No server answers at ${url} (${why})`,
    detail: "start one with `webhook-trigger serve`, or say where it is with --url or WEBHOOK_TRIGGER_URL"
  })
}

/**
 * Turns whatever the typed client fails with into words; `unknown` are those for a 404. A run's end (`timeout`, `error`)
 * is the command's to tell.
 */
export const fromClient =
  (url: string, unknown: string | undefined) =>
  (error: unknown): Effect.Effect<Failure> => {
    if (error instanceof Failure) return Effect.succeed(error)
    if (isProblem(error)) return Effect.succeed(fromProblem(error, unknown))
    if (error instanceof HttpClientError.RequestError) return Effect.succeed(unreachable(url, error.cause))
    if (error instanceof HttpClientError.ResponseError) {
      const { response } = error
      return response.json.pipe(
        Effect.option,
        Effect.map((body) =>
          body._tag === "Some" && isProblem(body.value)
            ? fromProblem(body.value, unknown)
            : notOurs(url, response.status)
        )
      )
    }
    if (ParseResult.isParseError(error)) return Effect.succeed(notOurs(url, 200))
    return Effect.die(error)
  }
