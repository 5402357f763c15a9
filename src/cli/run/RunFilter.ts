import { Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { maxSearchLength } from "../../api/run/RunPage.ts"
import { ThreadId } from "../../domain/Id.ts"
import { RunMode, RunStatus } from "../../domain/run/Run.ts"
import { RunSource } from "../../domain/run/RunSource.ts"
import { TeamName } from "../../domain/Team.ts"
import { Time, validated } from "../Validated.ts"

const wrong = <A, I>(schema: Schema.Codec<A, I>, message: string) =>
  schema.annotate({ message: () => ({ message, override: true }) })

const optional = <A>(name: string, pseudoName: string, about: string, schema: Schema.Codec<A, any>) =>
  Flag.String(name).pipe(
    Flag.withMetavar(pseudoName),
    Flag.withDescription(about),
    Flag.mapTryCatch(...validated(`--${name}`, schema)),
    Flag.optional
  )

const oneOf = <A extends string>(of: { readonly literals: ReadonlyArray<A> } & Schema.Codec<A>) =>
  wrong(of, `must be one of ${of.literals.join(", ")}`)

const states = RunStatus.literals.join(", ")
const Statuses = wrong(
  Schema.compose(Schema.split(","), Schema.NonEmptyArray(RunStatus), { strict: false }),
  `must be one or more of ${states}, separated by commas`
)

/** The API uses milliseconds instead. */
const Seconds = wrong(Schema.NumberFromString.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 1e9 }))), "must be a number of seconds")

export const filterOptions = {
  status: optional("status", "states", `Only runs with these statuses, separated by commas: ${states}`, Statuses),
  team: optional("team", "name", "Only runs for this team", TeamName),
  thread: optional("thread", "id", "Only runs of this thread", wrong(ThreadId, "must be a thread's id")),
  source: optional("source", "source", "Only webhook runs (webhook), or only chat messages (chat)", oneOf(RunSource)),
  mode: optional("mode", "mode", "Only synchronous runs (wait), or only asynchronous ones (async)", oneOf(RunMode)),
  asks: Flag.Boolean("asks").pipe(
    Flag.withDescription(
      "Only runs that wait for approval, or whose agent asks a question that nobody has replied to"
    )
  ),
  from: optional(
    "from",
    "time",
    "Only runs accepted at or after this time, such as 2026-01-02 or 2026-01-02T03:04:05Z",
    Time
  ),
  to: optional("to", "time", "Only runs accepted before this time", Time),
  minDuration: optional("min-duration", "seconds", "Only runs with at least this duration", Seconds),
  maxDuration: optional("max-duration", "seconds", "Only runs with at most this duration", Seconds),
  search: optional(
    "search",
    "text",
    "Only runs with this text in their values, prompt, answer or error, or the run with this id",
    wrong(
      Schema.String.pipe(Schema.check(Schema.isMinLength(1)), Schema.check(Schema.isMaxLength(maxSearchLength))),
      `must be 1 to ${maxSearchLength} characters`
    )
  )
}

type ValueOf<O> = O extends Flag.Options<infer A> ? A : never

type Filter = { readonly [Name in keyof typeof filterOptions]: ValueOf<(typeof filterOptions)[Name]> }

const millis = (seconds: Option.Option<number>): number | undefined =>
  Option.getOrUndefined(Option.map(seconds, (seconds) => Math.round(seconds * 1000)))

/** The parameters of a request. */
export const parametersOf = (filter: Filter) => ({
  status: Option.getOrUndefined(filter.status),
  team: Option.getOrUndefined(filter.team),
  thread_id: Option.getOrUndefined(filter.thread),
  source: Option.getOrUndefined(filter.source),
  mode: Option.getOrUndefined(filter.mode),
  asks: filter.asks ? ("true" as const) : undefined,
  from: Option.getOrUndefined(filter.from),
  to: Option.getOrUndefined(filter.to),
  min_duration_ms: millis(filter.minDuration),
  max_duration_ms: millis(filter.maxDuration),
  search: Option.getOrUndefined(filter.search)
})
