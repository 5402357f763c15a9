import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { headersOf, isInBody, presetNames } from "../../domain/verification/Presets.ts"
import { described } from "../Endpoint.ts"
import {
  BadRequest,
  bodyFaults,
  Conflict,
  commonFaults,
  NotAcceptable,
  NotFound,
  TooManyRequests,
  Unauthorized
} from "../Problem.ts"
import { EventQuery, EventStream, eventsDescription, LastEventId, NothingMore, withEventStream } from "./EventStream.ts"
import {
  Accepted,
  Answered,
  CallbackUrl,
  CallersRun,
  Cancelled,
  Failed,
  IdempotencyKey,
  Ignored,
  NotBefore,
  TimedOut,
  TimedOutInPage,
  VariablesBody,
  Wait
} from "./RunAnswers.ts"
import { triggerPath } from "./TriggerUrl.ts"

const token = Schema.String.annotate({
  description: "The webhook's token: `whk_` and 49 letters and digits, or 43 without the checksum."
})

/** The name of the token's security scheme in OpenAPI. */
export const tokenScheme = "token"

const proofs = presetNames
  .map((preset) => {
    const headers = headersOf(preset).map((name) => `\`${name}\``)
    return `\`${preset}\`: ${headers.length > 0 ? headers.join(", ") : isInBody(preset) ? "in the body" : "the webhook's own `header`"}`
  })
  .join("; ")

const description = [
  "Renders the webhook's template and sends the prompt to its team. The response is 202 as soon as the run is stored. With `wait=true` it is 200 when the team answers, 502 when the run ends as `error`, or 408 after the webhook's timeout (504 for a page in a browser). With `Accept: text/event-stream` or `format` it is 200 as soon as the run is stored, with the run's events up to its end; `wait` is then `true` unless it is given.",
  `A webhook with a \`verification\` also requires a signature or a secret in the headers of its preset: ${proofs}.`,
  "Tests of the URL start no run: those of a preset, and `OPTIONS` with `WebHook-Request-Origin` (CloudEvents). Other methods get 405."
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
        "multipart/form-data": {
          schema: {
            type: "object",
            description: `A form with up to 10 files of 5 MB each. Its texts are the variables, or the request ${forPayload}.`
          }
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
  run_id: Schema.String.annotate({ description: "The run's id, from the trigger." })
}

/** The faults of every endpoint here. */
const faults = [NotFound, Unauthorized, ...commonFaults] as const

const triggerAt = <const Name extends string, Params extends Schema.Struct.Fields = never>(
  name: Name,
  path: `/${string}`,
  params?: Params
) =>
  HttpApiEndpoint.post(name, path, {
    params,
    query: Schema.Struct({ ...Wait.fields, ...CallbackUrl.fields, ...NotBefore.fields, ...EventQuery.fields }),
    headers: IdempotencyKey,
    payload: VariablesBody,
    success: [Accepted, Answered, Ignored, Cancelled],
    error: [TimedOut, TimedOutInPage, Failed, NotAcceptable, ...bodyFaults, Conflict, TooManyRequests, ...faults]
  })

const runAt = <const Name extends string, Params extends Schema.Struct.Fields = never>(
  name: Name,
  path: `/${string}`,
  params?: Params
) =>
  HttpApiEndpoint.get(name, path, {
    params,
    query: Wait,
    success: CallersRun,
    error: [BadRequest, ...faults]
  })

const eventsAt = <const Name extends string, Params extends Schema.Struct.Fields = never>(
  name: Name,
  path: `/${string}`,
  params?: Params
) =>
  HttpApiEndpoint.get(name, path, {
    params,
    query: EventQuery,
    headers: LastEventId,
    success: [EventStream, NothingMore],
    error: [BadRequest, NotAcceptable, TooManyRequests, ...faults]
  })

const cancelAt = <const Name extends string, Params extends Schema.Struct.Fields = never>(
  name: Name,
  path: `/${string}`,
  params?: Params
) =>
  HttpApiEndpoint.post(name, path, {
    params,
    success: CallersRun,
    error: [Conflict, ...faults]
  })

/** For callers. The token is the only credential. */
export class Trigger extends HttpApiGroup.make("trigger")
  .add(
    triggerAt("trigger", `${triggerPath}/:token`, { token }).annotateMerge(
      OpenApi.annotations({
        summary: "Trigger a webhook",
        description,
        transform: (operation) => withEventStream(withEveryBody(operation))
      })
    )
  )
  .add(
    triggerAt("triggerWithHeader", triggerPath).annotateMerge(
      OpenApi.annotations({
        summary: "Trigger a webhook, with a header",
        description: `${inHeader}, so that logs and shell histories do not show it. \`Location\` does not contain the token either.`,
        transform: (operation) => withToken(withEventStream(withEveryBody(operation)))
      })
    )
  )
  .add(
    runAt("run", `${triggerPath}/:token/runs/:run_id`, { token, ...runPath }).annotateMerge(
      described(
        "Show a run to its caller",
        "The status of a run of this webhook; `Location` points here. With `wait=true` the response waits until the run ends or the webhook's timeout passes. It is 404 as soon as the token is no longer valid."
      )
    )
  )
  .add(
    runAt("runWithHeader", `${triggerPath}/runs/:run_id`, runPath).annotateMerge(
      OpenApi.annotations({
        summary: "Show a run to its caller, with a header",
        description: `${inHeader}.`,
        transform: withToken
      })
    )
  )
  .add(
    eventsAt("events", `${triggerPath}/:token/runs/:run_id/events`, { token, ...runPath }).annotateMerge(
      described("Follow a run", eventsDescription)
    )
  )
  .add(
    eventsAt("eventsWithHeader", `${triggerPath}/runs/:run_id/events`, runPath).annotateMerge(
      OpenApi.annotations({
        summary: "Follow a run, with a header",
        description: `${inHeader}.`,
        transform: withToken
      })
    )
  )
  .add(
    cancelAt("cancel", `${triggerPath}/:token/runs/:run_id/cancel`, { token, ...runPath }).annotateMerge(
      described(
        "Cancel a run",
        "Ends a run of this webhook as `cancelled`. A queued run is never sent. If the run was already sent, its leader is told to stop. A timed-out run whose agent still works stays `timeout`, and its leader is told to stop. For a failed run with a pending retry (`retry_at`), only the retry is cancelled; the run stays `error`. Cancelling again changes nothing; for other ended runs the response is 409."
      )
    )
  )
  .add(
    cancelAt("cancelWithHeader", `${triggerPath}/runs/:run_id/cancel`, runPath).annotateMerge(
      OpenApi.annotations({
        summary: "Cancel a run, with a header",
        description: `${inHeader}.`,
        transform: withToken
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Trigger", description: "For callers. The token is the only credential." })
  ) {}
