/** Converts any failure of a route to a response. */
import { Cause, Effect } from "effect"
import { HttpServerError, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { InvalidParameter, NotFound } from "../../domain/Errors.ts"
import { faultsOf } from "../../domain/SchemaFaults.ts"
import * as Problems from "./Problems.ts"

type Response = HttpServerResponse.HttpServerResponse

/** One response for all: the same bytes for every reason. */
const notFound = Problems.toResponse(Problems.bodyOf(new NotFound()))

export const ofRefusal = (refusal: Problems.Refusal): Response => {
  if (refusal._tag === "NotFound") return notFound
  return HttpServerResponse.setHeaders(Problems.toResponse(Problems.bodyOf(refusal)), Problems.ownHeadersOf(refusal))
}

const internalError = Problems.toResponse(
  Problems.problem(500, {
    code: "internal_error",
    detail: "The server's log has the cause. Part of the work may have been done."
  })
)

export const isRouteNotFound = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/** Effect decodes no bodies here, and `QueryCheck` has checked the query: this is a header of the API's definition. */
const invalidParameter = ({ cause: { issue } }: HttpApiError.HttpApiSchemaError): InvalidParameter =>
  new InvalidParameter({ name: faultsOf(issue)[0]?.path.map(String).join(".") ?? "", detail: "is not valid" })

const isOfRequest = (error: unknown): error is HttpApiError.HttpApiSchemaError =>
  HttpApiError.HttpApiSchemaError.is(error) && error.kind !== "Body" && error.kind !== "ResponseHeaders"

/** The cause of a defect only goes to the log. */
export const ofCause = (cause: Cause.Cause<unknown>): Effect.Effect<Response> => {
  const error = Cause.squash(cause)
  if (HttpServerResponse.isHttpServerResponse(error)) return Effect.succeed(error)
  if (Problems.isRefusal(error)) return Effect.succeed(ofRefusal(error))
  if (isOfRequest(error)) return Effect.succeed(ofRefusal(invalidParameter(error)))
  if (isRouteNotFound(error)) return Effect.succeed(notFound)
  return Effect.as(Effect.logError("A request failed unexpectedly", cause), internalError)
}
