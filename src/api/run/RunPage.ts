import { Schema, SchemaGetter } from "effect"
import { ThreadId, WebhookId } from "../../domain/Id.ts"
import { RunMode, RunStatus } from "../../domain/run/Run.ts"
import { RunSource } from "../../domain/run/RunSource.ts"
import { RunSummary } from "../../domain/run/RunSummary.ts"
import { isStorable, unstorableDetail } from "../../domain/StorableText.ts"
import { TeamName } from "../../domain/Team.ts"
import { optional, time } from "../../domain/Time.ts"
import { listFields } from "../List.ts"
import { Limit, wholeNumber } from "../PageSize.ts"

export const RunPage = Schema.Struct({
  ...listFields(RunSummary, "Newest first."),
  searched_back_to: optional(
    time(
      "Present if the search stopped early: the page has only runs accepted since this time. The next page continues from there."
    )
  )
}).annotate({ identifier: "RunPage", description: "A page of the history." })

/** One or more statuses, separated by commas. */
const Statuses = Schema.String.annotate({
  description: `Only runs with one of these statuses, separated by commas: ${RunStatus.literals.join(", ")}.`
}).pipe(
  Schema.decodeTo(Schema.NonEmptyArray(RunStatus), {
    decode: SchemaGetter.transform((text) => text.split(",") as [RunStatus]),
    encode: SchemaGetter.transform((statuses) => statuses.join(","))
  })
)

const millis = (description: string) => wholeNumber({ minimum: 0, description })

/** In characters. */
const maxSearchLength = 200

const Search = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(maxSearchLength),
  Schema.makeFilter((text) => isStorable(text) || unstorableDetail, { toJsonSchema: () => ({}) })
).annotate({
  description:
    "Only runs with this text in their variables (as JSON), prompt, response or error message, or the run with this id. Searches the first 20,000 characters of each, and ignores the case of A to Z."
})

/** The query parameters of a search for runs. */
export const RunFilterParameters = Schema.Struct({
  status: Schema.optional(Statuses),
  webhook_id: Schema.optional(WebhookId.annotate({ description: "Only runs of this webhook." })),
  thread_id: Schema.optional(ThreadId.annotate({ description: "Only runs of this thread." })),
  team: Schema.optional(TeamName.annotate({ description: "Only runs for this team." })),
  source: Schema.optional(RunSource.annotate({ description: "Only webhook runs, or only chat messages." })),
  mode: Schema.optional(
    RunMode.annotate({ description: "Only synchronous runs (`wait`), or only asynchronous ones (`async`)." })
  ),
  asks: Schema.optional(
    Schema.Literal("true").annotate({
      description: "Only runs that wait for approval, or whose agent asks a question that nobody has replied to."
    })
  ),
  from: Schema.optional(time("Only runs accepted at or after this time.")),
  to: Schema.optional(time("Only runs accepted before this time.")),
  min_duration_ms: Schema.optional(millis("Only ended runs with at least this duration, in milliseconds.")),
  max_duration_ms: Schema.optional(millis("Only ended runs with at most this duration, in milliseconds.")),
  search: Schema.optional(Search)
})

export const RunList = Schema.Struct({
  ...RunFilterParameters.fields,
  limit: Schema.optional(Limit),
  cursor: Schema.optional(
    Schema.String.annotate({ description: "`next_cursor` of the previous page, with the same filter." })
  )
})
