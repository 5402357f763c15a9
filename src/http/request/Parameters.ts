import type { HttpServerRequest } from "@effect/platform"
import { Effect, Either, Schema } from "effect"
import { InvalidParameter, NotFound } from "../../domain/Errors.ts"
import { RunId } from "../../domain/Id.ts"

/** The URL's, from its `?` on; empty: it has none. */
export const search = ({ url }: HttpServerRequest.HttpServerRequest): string => {
  const query = url.indexOf("?")
  return query < 0 ? "" : url.slice(query)
}

/** `wait`, given once and exactly `true` or `false`; not given: false. */
export const wait = (request: HttpServerRequest.HttpServerRequest): Either.Either<boolean, InvalidParameter> => {
  const query = search(request)
  if (query === "") return Either.right(false)
  const values = new URLSearchParams(query).getAll("wait")
  if (values.length === 0) return Either.right(false)
  if (values.length > 1) return Either.left(new InvalidParameter({ name: "wait", detail: "may be given only once" }))
  return values[0] === "true" || values[0] === "false"
    ? Either.right(values[0] === "true")
    : Either.left(new InvalidParameter({ name: "wait", detail: "must be `true` or `false`" }))
}

const isRunId = Schema.is(RunId)

/** A run's id as the caller wrote it, in either case; text that cannot be an id names no run. */
export const runId = (text: string): Effect.Effect<RunId, NotFound> =>
  isRunId(text) ? Effect.succeed(text.toLowerCase() as RunId) : new NotFound()
