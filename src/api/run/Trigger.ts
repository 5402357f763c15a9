import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { RunId } from "../../domain/Id.ts"
import { AgentReport } from "../../domain/run/AgentReport.ts"
import { Run, RunError, RunStatus, Variables } from "../../domain/run/Run.ts"
import { optional } from "../../domain/Time.ts"
import { headersOf, presetNames } from "../../domain/verification/Presets.ts"
import {
  BadRequest,
  Conflict,
  ContentTooLarge,
  MethodNotAllowed,
  NotFound,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  UnprocessableContent,
  UnsupportedMediaType
} from "../Problem.ts"
import { triggerPath } from "./TriggerUrl.ts"

export const Wait = Schema.Struct({
  wait: Schema.optional(
    Schema.Literal("true", "false").annotations({
      description: "`true`: the response waits until the run ends."
    })
  )
})

export const IdempotencyKey = Schema.Struct({
  "idempotency-key": Schema.optional(
    Schema.String.annotations({
      description:
        "1 to 255 printable ASCII characters. A repeated request within 24 hours returns the first run instead of a new one. It does not count if the webhook's `verification` identifies the delivery; then the response has the header `Idempotency-Key-Status: ignored`."
    })
  )
})

/** Variables for a template. */
export const VariablesBody = Schema.Struct({ variables: Variables })

const Texts = Schema.Record({ key: Schema.String, value: Schema.String })
const Fields = Schema.Record({
  key: Schema.String,
  value: Schema.Union(Schema.String, Schema.Array(Schema.String))
})

/** Sample values for a template. */
export const SampleBody = Schema.Struct({
  variables: optional(Variables),
  payload: optional(
    Schema.Unknown.annotations({
      jsonSchema: {},
      description: "For a webhook with `input: payload`: the request body, any JSON."
    })
  ),
  headers: optional(Texts.annotations({ description: "With `payload`: headers, by their names in lower case." })),
  query: optional(
    Fields.annotations({
      description: "With `payload`: the URL's query parameters. A repeated parameter is a list."
    })
  )
}).annotations({ identifier: "Sample", description: "Variables or a request, depending on the webhook's `input`." })

const token = Schema.String.annotations({
  description: "The webhook's token: `whk_` and 49 letters and digits, or 43 without the checksum."
})

/** The name of the token's security scheme in OpenAPI. */
export const tokenScheme = "token"

const status = <const S extends string>(status: S) =>
  Schema.Literal(status).annotations({ description: "What happened to the request." })

export const Accepted = Schema.Struct({ status: status("accepted"), run_id: RunId }).annotations({
  ...HttpApiSchema.annotations({ status: 202 }),
  description: "The run is stored and will be sent."
})
export const Answered = Schema.Struct({
  status: status("success"),
  response: Schema.String.annotations({ description: "The agent's answer." }),
  run_id: RunId,
  ...AgentReport.fields
}).annotations({ description: "The team has answered." })
export const Ignored = Schema.Struct({ status: status("ignored") }).annotations({
  description: "The request starts no run: it is a service's ping, or it does not pass the filter `accept_if`."
})
const TimeOut = Schema.Struct({ status: status("timeout"), run_id: RunId })
export const TimedOut = TimeOut.annotations({
  ...HttpApiSchema.annotations({ status: 408 }),
  description: "The timeout has passed. A late answer is stored with the run."
})
export const TimedOutInPage = TimeOut.annotations({
  ...HttpApiSchema.annotations({ status: 504 }),
  description:
    "Like 408, but for a page in a browser (`Sec-Fetch-Site` or `Origin`), because browsers repeat a POST after a 408."
})
export const Failed = Schema.Struct({
  status: status("error"),
  run_id: RunId,
  error: RunError,
  ...AgentReport.fields
}).annotations({
  ...HttpApiSchema.annotations({ status: 502 }),
  description: "The run ended as `error`."
})

/** A run as shown to its caller: only the outcome. */
export const CallersRun = Schema.Struct({
  run_id: RunId,
  status: RunStatus,
  started_at: Run.fields.started_at,
  finished_at: Run.fields.finished_at,
  duration_ms: Run.fields.duration_ms,
  response: Run.fields.conversation.fields.response,
  error: Run.fields.error,
  ...AgentReport.fields,
  retry_at: Run.fields.retry_at,
  retried_by: Run.fields.retried_by
}).annotations({ identifier: "CallersRun", description: "A run as shown to its caller." })
export type CallersRun = typeof CallersRun.Type

const proofs = presetNames
  .map((preset) => {
    const headers = headersOf(preset).map((name) => `\`${name}\``)
    return `\`${preset}\`: ${headers.length === 0 ? "the webhook's own `header`" : headers.join(", ")}`
  })
  .join("; ")

const description = [
  "Renders the webhook's template and sends the prompt to its team. The response is 202 as soon as the run is stored. With `wait=true` it is 200 when the team answers, 502 when the run ends as `error`, or 408 after the webhook's timeout (504 for a page in a browser).",
  `A webhook with a \`verification\` also requires a signature or a secret in the headers of its preset: ${proofs}.`
].join("\n\n")

const forPayload = "for a webhook with `input: payload`"

/** The body depends on the webhook's `input`, so one schema is not enough. */
const withEveryBody = (operation: Record<string, any>): Record<string, any> => {
  const { content, ...requestBody } = operation.requestBody
  const variables = { title: "Variables", description: "For a webhook with `input: variables`, the default." }
  const anyJson = { title: "A whole request", description: `Any JSON, ${forPayload}.` }
  return {
    ...operation,
    requestBody: {
      ...requestBody,
      description: "Variables for the template, or any request for a webhook with `input: payload`.",
      content: {
        "application/json": {
          schema: { anyOf: [{ ...content["application/json"].schema, ...variables }, anyJson] },
          examples: {
            variables: { summary: "Variables", value: { variables: { branch: "main" } } },
            payload: { summary: "A whole request", value: { ref: "refs/heads/main", commits: [] } }
          }
        },
        "application/x-www-form-urlencoded": {
          schema: { type: "object", description: `A form, ${forPayload}.` }
        },
        "text/plain": { schema: { type: "string", description: `A text, ${forPayload}.` } }
      }
    }
  }
}

const withToken = (operation: Record<string, any>): Record<string, any> => ({
  ...operation,
  security: [{ [tokenScheme]: [] }]
})

const inHeader = "With the token in `Authorization: Bearer` instead of the path"

const runPath = {
  run_id: Schema.String.annotations({ description: "The run's id, from the trigger." })
}

const triggerAt = <const Name extends string>(name: Name, path: `/${string}`) =>
  HttpApiEndpoint.post(name, path)
    .setUrlParams(Wait)
    .setHeaders(IdempotencyKey)
    .setPayload(VariablesBody)
    .addSuccess(Accepted)
    .addSuccess(Answered)
    .addSuccess(Ignored)
    .addError(TimedOut)
    .addError(TimedOutInPage)
    .addError(Failed)
    .addError(MethodNotAllowed)
    .addError(UnsupportedMediaType)
    .addError(ContentTooLarge)
    .addError(BadRequest)
    .addError(UnprocessableContent)
    .addError(Conflict)
    .addError(TooManyRequests)

const runAt = <const Name extends string>(name: Name, path: `/${string}`) =>
  HttpApiEndpoint.get(name, path)
    .setUrlParams(Wait)
    .addSuccess(CallersRun)
    .addError(BadRequest)
    .addError(MethodNotAllowed)

const cancelAt = <const Name extends string>(name: Name, path: `/${string}`) =>
  HttpApiEndpoint.post(name, path).addSuccess(CallersRun).addError(Conflict).addError(MethodNotAllowed)

/** For callers. The token is the only credential. */
export class Trigger extends HttpApiGroup.make("trigger")
  .add(
    triggerAt("trigger", `${triggerPath}/:token`)
      .setPath(Schema.Struct({ token }))
      .annotateContext(
        OpenApi.annotations({
          summary: "Trigger a webhook",
          description,
          transform: withEveryBody
        })
      )
  )
  .add(
    triggerAt("triggerWithHeader", triggerPath).annotateContext(
      OpenApi.annotations({
        summary: "Trigger a webhook, with a header",
        description: `${inHeader}, so that logs and shell histories do not show it. \`Location\` does not contain the token either.`,
        transform: (operation) => withToken(withEveryBody(operation))
      })
    )
  )
  .add(
    runAt("run", `${triggerPath}/:token/runs/:run_id`)
      .setPath(Schema.Struct({ token, ...runPath }))
      .annotateContext(
        OpenApi.annotations({
          summary: "Show a run to its caller",
          description:
            "The status of a run of this webhook; `Location` points here. With `wait=true` the response waits until the run ends or the webhook's timeout passes. It is 404 as soon as the token is no longer valid."
        })
      )
  )
  .add(
    runAt("runWithHeader", `${triggerPath}/runs/:run_id`)
      .setPath(Schema.Struct(runPath))
      .annotateContext(
        OpenApi.annotations({
          summary: "Show a run to its caller, with a header",
          description: `${inHeader}.`,
          transform: withToken
        })
      )
  )
  .add(
    cancelAt("cancel", `${triggerPath}/:token/runs/:run_id/cancel`)
      .setPath(Schema.Struct({ token, ...runPath }))
      .annotateContext(
        OpenApi.annotations({
          summary: "Cancel a run",
          description:
            "Ends a run of this webhook as `cancelled`. A queued run is never sent. If the run was already sent, its leader is asked to stop. For a failed run with a pending retry (`retry_at`), only the retry is cancelled; the run stays `error`. Cancelling again changes nothing; for other ended runs the response is 409."
        })
      )
  )
  .add(
    cancelAt("cancelWithHeader", `${triggerPath}/runs/:run_id/cancel`)
      .setPath(Schema.Struct(runPath))
      .annotateContext(
        OpenApi.annotations({
          summary: "Cancel a run, with a header",
          description: `${inHeader}.`,
          transform: withToken
        })
      )
  )
  .addError(NotFound)
  .addError(Unauthorized)
  .addError(ServiceUnavailable)
  .annotateContext(
    OpenApi.annotations({ title: "Trigger", description: "For callers. The token is the only credential." })
  ) {}
