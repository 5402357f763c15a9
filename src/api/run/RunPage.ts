import { Schema } from "effect"
import { WebhookId } from "../../domain/Id.ts"
import { RunMode, RunSource, RunStatus } from "../../domain/run/Run.ts"
import { RunSummary } from "../../domain/run/RunSummary.ts"
import { isStorable, unstorableDetail } from "../../domain/StorableText.ts"
import { TeamName } from "../../domain/Team.ts"
import { optional, time } from "../../domain/Time.ts"
import { Limit } from "../PageSize.ts"

export const RunPage = Schema.Struct({
  data: Schema.Array(RunSummary).annotations({ description: "Newest first." }),
  next_cursor: Schema.NullOr(Schema.String).annotations({ description: "For the next page; null on the last one." }),
  searched_back_to: optional(
    time(
      "There when looking for runs took long: the page has those accepted since then, perhaps none, and the next one goes on from there."
    )
  )
}).annotations({ identifier: "RunPage", description: "A page of the history." })

/** One state, or several with commas between them. */
const Statuses = Schema.transform(Schema.String, Schema.Array(Schema.String), {
  strict: true,
  decode: (text) => text.split(","),
  encode: (statuses) => statuses.join(",")
}).pipe(
  Schema.compose(Schema.NonEmptyArray(RunStatus), { strict: false }),
  Schema.annotations({
    jsonSchema: {
      type: "string",
      description: `Only runs in one of these states, separated by commas: ${RunStatus.literals.join(", ")}.`
    }
  })
)

const millis = (description: string) =>
  Schema.compose(Schema.String.pipe(Schema.pattern(/^\d{1,15}$/)), Schema.NumberFromString).pipe(
    Schema.annotations({ jsonSchema: { type: "integer", minimum: 0, description } })
  )

/** The longest text that may be searched: characters. */
export const maxSearchLength = 200

const Search = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(maxSearchLength),
  Schema.filter(isStorable, { message: () => unstorableDetail }),
  Schema.annotations({
    description:
      "Only runs with this text in their variables (as JSON), prompt, response or error message, within the first 20,000 characters of each; A to Z and a to z are the same. The id of a run finds that run."
  })
)

/** Which runs of all webhooks and teams: query parameters. */
export const RunFilterParameters = Schema.Struct({
  status: Schema.optional(Statuses),
  webhook_id: Schema.optional(WebhookId.annotations({ description: "Only runs of this webhook." })),
  team: Schema.optional(TeamName.annotations({ description: "Only runs that were accepted for this team." })),
  source: Schema.optional(RunSource.annotations({ description: "Only triggers of webhooks, or only chat messages." })),
  mode: Schema.optional(RunMode.annotations({ description: "Only runs whose caller waits, or does not." })),
  from: Schema.optional(time("Only runs accepted then or later.")),
  to: Schema.optional(time("Only runs accepted before then.")),
  min_duration_ms: Schema.optional(millis("Only runs that have ended and took at least as many milliseconds.")),
  max_duration_ms: Schema.optional(millis("Only runs that have ended and took at most as many milliseconds.")),
  search: Schema.optional(Search)
})

export const RunList = Schema.Struct({
  ...RunFilterParameters.fields,
  limit: Schema.optional(Limit),
  cursor: Schema.optional(
    Schema.String.annotations({ description: "`next_cursor` of the previous page, with the same filter." })
  )
})
