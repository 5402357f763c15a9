/** The parameters for starting a run, and the answers. */
import { Schema, SchemaTransformation } from "effect"
import { RunId } from "../../domain/Id.ts"
import { ShownReport } from "../../domain/run/AgentReport.ts"
import { longestDays } from "../../domain/run/NotBefore.ts"
import { Run, RunError, RunStatus, Variables } from "../../domain/run/Run.ts"
import { AnyJson } from "../../domain/SchemaParts.ts"
import { optional } from "../../domain/Time.ts"
import { offeredFields, tagged } from "../Problem.ts"

export const Wait = Schema.Struct({
  wait: Schema.optional(
    Schema.Literals(["true", "false"])
      .annotate({ description: "`true`: the response waits until the run ends." })
      .pipe(
        Schema.decodeTo(
          Schema.Boolean,
          SchemaTransformation.transform({
            decode: (text) => text === "true",
            encode: (wait): "true" | "false" => (wait ? "true" : "false")
          })
        )
      )
  )
})

export const CallbackUrl = Schema.Struct({
  callback_url: Schema.optional(
    Schema.String.annotate({
      description:
        "The URL that receives a signed event when the run ends. It must begin with the `url` of one of the webhook's `callback` destinations."
    })
  )
})

export const NotBefore = Schema.Struct({
  not_before: Schema.optional(
    Schema.String.annotate({
      description: `When the run takes its place in its team's queue, at the earliest: a time (RFC 3339), or a duration such as \`30m\`, \`8h\` or \`2d\`, up to ${longestDays} days from now. Until then it waits, and can be cancelled or started early. Not with \`wait=true\`.`
    })
  )
})

export const IdempotencyKey = Schema.Struct({
  "idempotency-key": Schema.optional(
    Schema.String.annotate({
      description:
        "1 to 255 printable ASCII characters. A repeated request within 24 hours returns the first run instead of a new one. It does not count if the webhook's `verification` identifies the delivery; then the response has the header `Idempotency-Key-Status: ignored`."
    })
  )
})

/** Variables for a template. */
export const VariablesBody = Schema.Struct({ variables: Variables })

const Texts = Schema.Record(Schema.String, Schema.String)
const Fields = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Array(Schema.String)]))

/** Sample values for a template. */
export const SampleBody = Schema.Struct({
  variables: optional(Variables),
  payload: optional(
    AnyJson.annotate({
      description: "For a webhook with `input: payload`: the request body, any JSON."
    })
  ),
  headers: optional(Texts.annotate({ description: "With `payload`: headers, by their names in lower case." })),
  query: optional(
    Fields.annotate({
      description: "With `payload`: the URL's query parameters. A repeated parameter is a list."
    })
  )
}).annotate({ identifier: "Sample", description: "Variables or a request, depending on the webhook's `input`." })

const status = <const S extends string>(status: S) =>
  Schema.Literal(status).annotate({ description: "What happened to the request." })

export const Accepted = Schema.Struct({ status: status("accepted"), run_id: RunId, ...offeredFields }).annotate({
  httpApiStatus: 202,
  description: "The run is stored and will be sent."
})
export const Answered = Schema.Struct({
  status: status("success"),
  response: Schema.String.annotate({ description: "The agent's answer." }),
  run_id: RunId,
  ...ShownReport.fields,
  ...offeredFields
}).annotate({ description: "The team has answered." })
export const Ignored = Schema.Struct({
  status: status("ignored"),
  reason: optional(
    Schema.String.annotate({
      description:
        "Why: a destination wrote what the request reports (`own_messages`), or the webhook takes no runs now (`when_team_stopped`), or a run with the same key is on (`singleton`)."
    })
  ),
  run_id: optional(RunId.annotate({ description: "The run with the same key, of a webhook with `singleton`." })),
  ...offeredFields
}).annotate({
  description:
    "The request starts no run: it is a service's ping, does not pass the filter `accept_if`, is about a message of a destination, or comes while the webhook ignores requests or a run with its key is on."
})
export const Cancelled = Schema.Struct({
  status: status("cancelled"),
  run_ids: Schema.Array(RunId).annotate({
    description: "The runs with the request's key that were queued, in progress or waiting for a retry."
  }),
  ...offeredFields
}).annotate({ description: "The filter `cancel_if` holds: the request starts no run and cancels earlier ones." })
const TimeOut = Schema.Struct({
  status: status("timeout"),
  run_id: RunId,
  last_step: Run.fields.last_step,
  ...offeredFields
})
export const TimedOut = TimeOut.pipe(
  tagged("TimedOut", 408, "The timeout has passed. A late answer is stored with the run.")
)
export const TimedOutInPage = TimeOut.pipe(
  tagged(
    "TimedOut",
    504,
    "Like 408, but for a page in a browser (`Sec-Fetch-Site` or `Origin`), because browsers repeat a POST after a 408."
  )
)
export const Failed = Schema.Struct({
  status: status("error"),
  run_id: RunId,
  error: RunError,
  ...ShownReport.fields,
  ...offeredFields
}).pipe(tagged("Failed", 502, "The run ended as `error`."))

/** A run as shown to its caller: only the outcome. */
export const CallersRun = Schema.Struct({
  run_id: RunId,
  status: RunStatus,
  started_at: Run.fields.started_at,
  finished_at: Run.fields.finished_at,
  duration_ms: Run.fields.duration_ms,
  response: Run.fields.conversation.fields.response,
  error: Run.fields.error,
  last_step: Run.fields.last_step,
  ...ShownReport.fields,
  retry_at: Run.fields.retry_at,
  retried_by: Run.fields.retried_by
}).annotate({ identifier: "CallersRun", description: "A run as shown to its caller." })
export type CallersRun = typeof CallersRun.Type
