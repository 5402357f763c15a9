import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { Fault } from "../domain/Errors.ts"
import { RunId } from "../domain/Id.ts"
import { optional } from "../domain/Time.ts"

/** The media type of every error, RFC 9457. */
export const mediaType = "application/problem+json"

/** An error in the format of RFC 9457; `code` is for programs, `detail` for people, `errors` lists single faults. */
export const problem = <const Status extends number>(status: Status, description: string) =>
  Schema.Struct({
    type: Schema.String.annotations({ description: "Where the code is explained: `/docs#<code>`." }),
    title: Schema.String.annotations({ description: "What the code means." }),
    status: Schema.Literal(status).annotations({ description: "The status of the response." }),
    detail: Schema.String.annotations({ description: "What is wrong with this request." }),
    code: Schema.String.annotations({ description: "For programs; see `/docs`." }),
    errors: optional(Schema.Array(Fault).annotations({ description: "Every single fault." })),
    run_id: optional(RunId.annotations({ description: "The run that was already accepted, and goes on." }))
  })
    .pipe(HttpApiSchema.withEncoding({ kind: "Json", contentType: mediaType }))
    // The identifier comes last: a schema that is annotated again loses it.
    .annotations({ ...HttpApiSchema.annotations({ status }), description, identifier: `Problem${status}` })

export const BadRequest = problem(400, "The request is malformed.")
export const Unauthorized = problem(401, "No admin key, or a wrong one; for a trigger: not what its webhook asks for.")
export const NotFound = problem(404, "There is no such thing.")
export const MethodNotAllowed = problem(405, "The address does not accept this method; see `Allow`.")
export const Conflict = problem(409, "Not possible in the current state.")
export const PreconditionFailed = problem(412, "It was changed since the version in `If-Match`.")
export const ContentTooLarge = problem(413, "The body is too large.")
export const UnsupportedMediaType = problem(415, "The body is not plain JSON.")
export const UnprocessableContent = problem(
  422,
  "The request is well formed but not valid; `errors` lists every fault."
)
export const TooManyRequests = problem(429, "A limit has been reached; see `Retry-After`.")
export const InternalError = problem(500, "An unexpected failure of the server.")
export const BadGateway = problem(502, "The run ended as an error.")
export const ServiceUnavailable = problem(
  503,
  "The database or the broker is out of reach, or the server is stopping or too busy; see `Retry-After`."
)
