import { Schema, SchemaGetter, Struct } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { Fault } from "../domain/Errors.ts"
import { RunId, WebhookId } from "../domain/Id.ts"
import { AgentReport } from "../domain/run/AgentReport.ts"
import { optional } from "../domain/Time.ts"
import { problemCodes } from "./ProblemTitles.ts"

/** The media type of errors (RFC 9457). */
export const mediaType = "application/problem+json"

export const problemCode = Schema.Literals(problemCodes)

/** The results of a request at the webhooks that share a URL. Only their own teams see their names and reasons. */
export const offeredFields = {
  runs: optional(
    Schema.Array(Schema.Struct({ webhook_id: WebhookId, run_id: RunId })).annotate({
      description: "If webhooks share the URL: the run of each that accepted the request."
    })
  ),
  cancelled: optional(
    Schema.Array(RunId).annotate({
      description: "If webhooks share the URL: the runs that were cancelled because `cancel_if` holds."
    })
  ),
  refused: optional(
    Schema.Array(
      Schema.Struct({
        webhook_id: WebhookId,
        code: problemCode.annotate({ description: "As in a problem." }),
        retried: optional(
          Schema.Literal(true).annotate({
            description: "The server offers the request to this webhook again, for up to 10 minutes."
          })
        )
      })
    ).annotate({
      description: "Webhooks that share the URL and refused the request. Do not send it again for them."
    })
  ),
  pending: optional(
    Schema.Array(WebhookId).annotate({
      description: "Webhooks that share the URL and have not decided yet."
    })
  )
}

/** The tag of each status in the typed client. It is not part of the response. */
export const tags = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  412: "PreconditionFailed",
  413: "ContentTooLarge",
  415: "UnsupportedMediaType",
  422: "UnprocessableContent",
  429: "TooManyRequests",
  500: "InternalError",
  502: "BadGateway",
  503: "ServiceUnavailable"
} as const

/** With a tag in the typed client, which is not part of the response. */
export const tagged =
  <const Tag extends string>(tag: Tag, status: number, description: string) =>
  <const Fields extends Schema.Struct.Fields>(schema: Schema.Struct<Fields>) =>
    schema.annotate({ description }).pipe(
      Schema.decodeTo(Schema.Struct({ ...Struct.map(schema.fields, Schema.toType), _tag: Schema.Literal(tag) }), {
        decode: SchemaGetter.transform((value: object): any => ({ ...value, _tag: tag })),
        encode: SchemaGetter.transform(({ _tag, ...value }: any) => value)
      }),
      Schema.annotate({ httpApiStatus: status, description })
    )

/** A status that problems have. */
export type ProblemStatus = keyof typeof tags

/** An error as in RFC 9457, with members of its own. */
const problemWith = <const Status extends ProblemStatus, Members extends Schema.Struct.Fields>(
  status: Status,
  description: string,
  members: Members
) =>
  Schema.Struct({
    ...members,
    type: Schema.String.annotate({ description: "The documentation of the code: `/docs#<code>`." }),
    title: Schema.String.annotate({ description: "The meaning of the code." }),
    status: Schema.Literal(status).annotate({ description: "The status of the response." }),
    detail: Schema.String.annotate({ description: "The reason for this request's error." }),
    code: problemCode.annotate({ description: "The kind of error, for programs; see `/docs`." }),
    errors: optional(Schema.Array(Fault).annotate({ description: "The individual errors." })),
    run_id: optional(RunId.annotate({ description: "The accepted run, which continues." })),
    ...offeredFields
  })
    .annotate({ identifier: `Problem${status}` })
    .pipe(tagged(tags[status], status, description), HttpApiSchema.asJson({ contentType: mediaType }))

const problem = <const Status extends ProblemStatus>(status: Status, description: string) =>
  problemWith(status, description, {})

export const BadRequest = problem(400, "The request is malformed.")
export const Unauthorized = problem(
  401,
  "The key is missing or wrong. For a trigger: the caller could not be verified."
)
export const Forbidden = problem(
  403,
  "The key's role or teams do not allow this, or the session needs a fresh sign-in."
)
export const NotFound = problem(404, "Not found.")
const MethodNotAllowed = problem(405, "This method is not allowed here; see `Allow`.")
export const NotAcceptable = problem(406, "The response has none of the media types in `Accept`.")
export const Conflict = problem(409, "Not possible in the current state.")
export const PreconditionFailed = problem(412, "It was edited after the version in `If-Match`.")
export const ContentTooLarge = problem(413, "The body is too large.")
export const UnsupportedMediaType = problem(415, "The body is not plain JSON.")
export const UnprocessableContent = problem(422, "The request is well formed but not valid; see `errors`.")
export const TooManyRequests = problem(429, "A limit has been reached; see `Retry-After`.")
const InternalError = problem(500, "An unexpected error in the server.")
export const BadGateway = problemWith(502, "The run ended as an error.", AgentReport.fields)
const ServiceUnavailable = problem(
  503,
  "The database or the broker is unreachable, or the server is stopping or too busy; see `Retry-After`."
)

/** The possible faults in a request's body, in the order of the checks. */
export const bodyFaults = [UnsupportedMediaType, ContentTooLarge, BadRequest, UnprocessableContent] as const

/** The answers of every endpoint. */
export const commonFaults = [MethodNotAllowed, InternalError, ServiceUnavailable] as const
