import { Context, Data, Effect, Option, Schema, Struct } from "effect"
import { HttpClientError, type HttpClientResponse } from "effect/http"
import { hasProperty } from "effect/Predicate"
import { Fault } from "../domain/Errors.ts"

/** The exit codes of failed commands and of `diff`, as documented in `docs/reference/cli.md`. */
export const exitCodes = {
  ...{ refused: 1, usage: 2, outOfReach: 3, runFailed: 4, runTimedOut: 5, differs: 6 },
  interrupted: 130
} as const

/** A failed command. It is reported on standard error. */
export class Failure extends Data.TaggedError("CliFailure")<{
  /** One of `exitCodes`, or the code of a process that ended unexpectedly. */
  readonly exit: number
  readonly title: string
  readonly detail?: string
  readonly faults?: ReadonlyArray<Fault>
  /** The server's response, for `--json`. */
  readonly body?: unknown
}> {}

export const refused = (title: string, detail?: string): Failure =>
  new Failure({ exit: exitCodes.refused, title, ...(detail !== undefined && { detail }) })

export const usage = (detail: string, faults?: ReadonlyArray<Fault>): Failure =>
  new Failure({ exit: exitCodes.usage, title: "Wrong usage", detail, ...(faults && { faults }) })

/** The failure for faults in the words of a command line. */
export const wrongUsage = (details: ReadonlyArray<string>): Failure =>
  new Failure({
    ...{ exit: exitCodes.usage, title: "Wrong usage" },
    faults: details.map((detail) => ({ pointer: "", detail }))
  })

/** True: commands read their input and report what is wrong with it. They do nothing else. */
export class OnlyChecks extends Context.Reference("webhook-trigger/OnlyChecks", { defaultValue: () => false }) {}

/** Stops a command that only checks, before the first step that does something. */
export const stopIfOnlyChecks = Effect.flatMap(OnlyChecks, (isOn) => (isOn ? wrongUsage([]) : Effect.void))

/** The faults in the words, if they are the failure. */
export const usageFaultsOf = ({ detail, exit, faults, title }: Failure): ReadonlyArray<string> => {
  if (exit !== exitCodes.usage) return []
  return faults?.map(lineOf) ?? [detail ?? title]
}

const lineOf = ({ detail, pointer }: Fault): string => (pointer === "" ? detail : `${pointer}  ${detail}`)

/** How a fault begins that has a similar word. */
export const didYouMean = "Did you mean"

/** One line, and one more for each fault. What was probably meant comes first. */
export const describe = ({ detail, faults = [], title }: Failure, command: string): string => {
  const isMeant = (fault: Fault) => fault.detail.startsWith(didYouMean)
  const [meant, others] = [faults.filter(isMeant), faults.filter((fault) => !isMeant(fault))]
  if (meant.length > 0) return [...[...meant, ...others].map(lineOf), `See ${command} --help`].join("\n")
  const more = title === "Wrong usage" && detail === undefined ? `; see ${command} --help` : ""
  return [
    detail === undefined || detail === title ? title + more : `${title}: ${detail}`,
    ...faults.map((fault) => `  ${lineOf(fault)}`)
  ].join("\n")
}

/** The server's response, without the tag that the client has added, or an object of the same form. */
export const toJson = ({ body, detail, faults, title }: Failure): unknown =>
  hasProperty(body, "_tag") ? Struct.omit(body, ["_tag"]) : (body ?? { title, detail, errors: faults })

const Problem = Schema.Struct({
  title: Schema.String,
  status: Schema.Number,
  code: Schema.String,
  detail: Schema.String,
  errors: Schema.optionalKey(Schema.Array(Fault))
})
const isProblem = Schema.is(Problem)

/** The server's text, without details of HTTP that users of a command do not see. */
const textOf = ({ code, detail, errors, status, title }: typeof Problem.Type, notFound: string | undefined) => {
  if (status === 404 && notFound !== undefined) return { title: notFound }
  if (code === "unauthorized")
    return { title, detail: "run webhook-trigger login, set ADMIN_API_KEY or use --admin-key" }
  return errors === undefined ? { title, detail } : { title, faults: errors.map(asTyped) }
}

/** A variable's JSON Pointer (RFC 6901) becomes its name, as `--var` takes it. */
const asTyped = ({ detail, pointer }: Fault): Fault => {
  const [, path] = /^\/variables\/(.+)$/s.exec(pointer) ?? []
  if (path === undefined) return { pointer, detail }
  const name = path.replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~")
  return { pointer: `--var ${name}`, detail }
}

/** 502 means that the run failed. */
const exits: Readonly<Record<number, number>> = { 502: exitCodes.runFailed, 503: exitCodes.outOfReach }

const fromProblem = (body: typeof Problem.Type, notFound: string | undefined): Failure =>
  new Failure({ exit: exits[body.status] ?? exitCodes.refused, ...textOf(body, notFound), body })

export const unexpected = (url: string, status?: number): Failure =>
  refused(
    `Unexpected response${status === undefined ? "" : ` ${status}`} from ${url}`,
    "is it a webhook-trigger server of this version?"
  )

const unreachable = (url: string, cause: unknown): Failure => {
  const inner = hasProperty(cause, "cause") ? cause.cause : cause
  const why = hasProperty(inner, "code") ? inner.code : cause
  return new Failure({
    exit: exitCodes.outOfReach,
    title: `No response from a server at ${url} (${why})`,
    detail: "start a server with `webhook-trigger serve`, or set its address with --url or WEBHOOK_TRIGGER_URL"
  })
}

/** A response that is no success. `notFound` is the title for a 404. */
export const fromResponse = (
  url: string,
  response: HttpClientResponse.HttpClientResponse,
  notFound?: string
): Effect.Effect<Failure> =>
  Effect.map(Effect.option(response.json), (body) =>
    Option.isSome(body) && isProblem(body.value) ? fromProblem(body.value, notFound) : unexpected(url, response.status)
  )

/** Turns an error of the typed client into a `Failure`. `notFound` is the title for a 404. `Outcome.ts` handles run outcomes. */
export const fromClient =
  (url: string, notFound?: string) =>
  (error: unknown): Effect.Effect<Failure> => {
    if (error instanceof Failure) return Effect.succeed(error)
    if (isProblem(error)) return Effect.succeed(fromProblem(error, notFound))
    if (HttpClientError.isHttpClientError(error)) {
      const { reason, response } = error
      return response === undefined
        ? Effect.succeed(unreachable(url, "cause" in reason ? reason.cause : reason))
        : fromResponse(url, response, notFound)
    }
    if (Schema.isSchemaError(error)) return Effect.succeed(unexpected(url))
    return Effect.die(error)
  }
