import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { RunId } from "../../domain/Id.ts"
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
      description: "`true` holds the response until the run has ended."
    })
  )
})

export const IdempotencyKey = Schema.Struct({
  "idempotency-key": Schema.optional(
    Schema.String.annotations({
      description:
        "1 to 255 printable ASCII characters. A repeat within 24 hours returns the first run instead of a new one."
    })
  )
})

/** The body of every request that fills in a template. */
export const VariablesBody = Schema.Struct({ variables: Variables })

const Texts = Schema.Record({ key: Schema.String, value: Schema.String })
const Fields = Schema.Record({
  key: Schema.String,
  value: Schema.Union(Schema.String, Schema.Array(Schema.String))
})

/** The body of a request that fills in a template with what a person has written. */
export const SampleBody = Schema.Struct({
  variables: optional(Variables),
  payload: optional(
    Schema.Unknown.annotations({
      jsonSchema: {},
      description: "For a webhook with `input: payload`: what a request's body is, any JSON."
    })
  ),
  headers: optional(Texts.annotations({ description: "Beside `payload`: headers, by their names in lower case." })),
  query: optional(
    Fields.annotations({
      description: "Beside `payload`: the parameters of the URL; one that is given several times is a list."
    })
  )
}).annotations({ identifier: "Sample", description: "Variables, or a request, by the webhook's `input`." })

const token = Schema.String.annotations({
  description: "The webhook's token: `whk_` and 49 letters and digits, or 43 in tokens from earlier releases."
})

/** The name of the token's security scheme in OpenAPI. */
export const tokenScheme = "token"

const status = <const S extends string>(status: S) =>
  Schema.Literal(status).annotations({ description: "What happened to the request." })

export const Accepted = Schema.Struct({ status: status("accepted"), run_id: RunId }).annotations({
  ...HttpApiSchema.annotations({ status: 202 }),
  description: "The run is stored and will be sent, whatever happens."
})
export const Answered = Schema.Struct({
  status: status("success"),
  response: Schema.String.annotations({ description: "The agent's answer." }),
  run_id: RunId
}).annotations({ description: "The team has answered." })
export const Ignored = Schema.Struct({ status: status("ignored") }).annotations({
  description: "The request starts no run: it is a service's ping, or the webhook's `accept_if` does not hold for it."
})
const TimeOut = Schema.Struct({ status: status("timeout"), run_id: RunId })
export const TimedOut = TimeOut.annotations({
  ...HttpApiSchema.annotations({ status: 408 }),
  description: "The timeout has passed. A late answer is stored with the run."
})
export const TimedOutInPage = TimeOut.annotations({
  ...HttpApiSchema.annotations({ status: 504 }),
  description:
    "The same as 408, for a page in a browser (`Sec-Fetch-Site` or `Origin`), since browsers resend a POST that is answered with 408."
})
export const Failed = Schema.Struct({ status: status("error"), run_id: RunId, error: RunError }).annotations({
  ...HttpApiSchema.annotations({ status: 502 }),
  description: "The run ended as `error`."
})

/** A run as its caller may see it: only the outcome. */
export const CallersRun = Schema.Struct({
  run_id: RunId,
  status: RunStatus,
  started_at: Run.fields.started_at,
  finished_at: Run.fields.finished_at,
  duration_ms: Run.fields.duration_ms,
  response: Run.fields.conversation.fields.response,
  error: Run.fields.error,
  retry_at: Run.fields.retry_at,
  retried_by: Run.fields.retried_by
}).annotations({ identifier: "CallersRun", description: "A run as its caller may see it." })
export type CallersRun = typeof CallersRun.Type

const proofs = presetNames
  .map((preset) => {
    const headers = headersOf(preset).map((name) => `\`${name}\``)
    return `\`${preset}\`: ${headers.length === 0 ? "the webhook's own `header`" : headers.join(", ")}`
  })
  .join("; ")

const description = [
  "Fills in the webhook's template and sends the prompt to its team. Answers 202 as soon as the run is stored; with `wait=true`, when the team has answered (200), the run has ended as `error` (502), or the webhook's timeout has passed (408; 504 for a page in a browser).",
  `A webhook with a \`verification\` also asks for its caller's signature or secret, by preset in these headers: ${proofs}.`
].join("\n\n")

const ofPayload = "of a webhook with `input: payload`, whose template reaches all of it"

/** The body depends on the webhook's `input`, which a schema of one of them could not say. */
const withEveryBody = (operation: Record<string, any>): Record<string, any> => {
  const { content, ...requestBody } = operation.requestBody
  const variables = { title: "Variables", description: "For a webhook with `input: variables`, the default." }
  const anyJson = { title: "A whole request", description: `Any JSON, ${ofPayload}.` }
  return {
    ...operation,
    requestBody: {
      ...requestBody,
      description: "Variables for the template; or whatever a service sends, for a webhook with `input: payload`.",
      content: {
        "application/json": {
          schema: { anyOf: [{ ...content["application/json"].schema, ...variables }, anyJson] },
          examples: {
            variables: { summary: "Variables", value: { variables: { branch: "main" } } },
            payload: { summary: "A whole request", value: { ref: "refs/heads/main", commits: [] } }
          }
        },
        "application/x-www-form-urlencoded": {
          schema: { type: "object", description: `A form, ${ofPayload}.` }
        },
        "text/plain": { schema: { type: "string", description: `A text, ${ofPayload}.` } }
      }
    }
  }
}

/** The operation, with the token in a header. */
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
        description: `${inHeader}, so that logs and histories do not show it. \`Location\` does not contain the token either. Otherwise the same.`,
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
            "The state of a run of this webhook: what `Location` points at. With `wait=true` the response is held until the run has ended or the webhook's timeout has passed; it is 404 as soon as the token is no longer valid."
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
            "Ends a run of this webhook as `cancelled`. One that is queued is never sent; of one that was sent, the leader is asked to stop. Cancelling again changes nothing; a run that has ended in another way stays as it is (409). A failed run that is to be tried again (`retry_at`) is not, and stays `error`."
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
