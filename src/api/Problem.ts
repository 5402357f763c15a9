import { HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { Fault } from "../domain/Errors.ts"
import { RunId } from "../domain/Id.ts"

/** The media type of every refusal, RFC 9457. */
export const mediaType = "application/problem+json"

/** A refusal as RFC 9457 writes it; `code` is for programs, `detail` for people, `errors` lists single faults. */
export const problem = <const Status extends number>(status: Status, description: string) =>
  Schema.Struct({
    type: Schema.String.annotations({ description: "Where the code is explained: `/docs#<code>`." }),
    title: Schema.String.annotations({ description: "What the code means." }),
    status: Schema.Literal(status).annotations({ description: "The status of the response." }),
    detail: Schema.String.annotations({ description: "What is wrong with this request." }),
    code: Schema.String.annotations({ description: "For programs; see `/docs`." }),
    errors: Schema.optionalWith(Schema.Array(Fault).annotations({ description: "Every single fault." }), {
      exact: true
    }),
    run_id: Schema.optionalWith(RunId.annotations({ description: "The run that was accepted before, and goes on." }), {
      exact: true
    })
  })
    .pipe(HttpApiSchema.withEncoding({ kind: "Json", contentType: mediaType }))
    // The identifier comes last: whatever is annotated again loses it.
    .annotations({ ...HttpApiSchema.annotations({ status }), description, identifier: `Problem${status}` })

export const BadRequest = problem(400, "The request is malformed.")
export const Unauthenticated = problem(401, "No admin key, or a wrong one.")
export const NoSuchThing = problem(404, "There is nothing by that name.")
export const NotAllowed = problem(405, "The address takes another method; see `Allow`.")
export const Conflict = problem(409, "The state of things does not allow it now.")
export const TooLarge = problem(413, "The body is over the limit.")
export const WrongMediaType = problem(415, "The body is not plain JSON.")
export const Unprocessable = problem(422, "The request is well formed and breaks a rule; `errors` lists every fault.")
export const TooMany = problem(429, "A limit is reached; see `Retry-After`.")
export const AgentFailed = problem(502, "The team's leader reported an error.")
export const OutOfReach = problem(503, "Database or broker out of reach, or shutting down; see `Retry-After`.")
