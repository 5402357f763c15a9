import type { HttpServerRequest } from "@effect/platform"
import { Either } from "effect"
import { InvalidParameter } from "../../domain/Errors.ts"
import { normalized } from "../../engine/delivery/Callbacks.ts"

/** The URL's query, from its `?` on, or empty. */
export const search = ({ url }: HttpServerRequest.HttpServerRequest): string => {
  const query = url.indexOf("?")
  return query < 0 ? "" : url.slice(query)
}

/** `wait`: exactly `true` or `false`, given at most once. */
export const wait = (
  request: HttpServerRequest.HttpServerRequest,
  byDefault = false
): Either.Either<boolean, InvalidParameter> => {
  const query = search(request)
  if (query === "") return Either.right(byDefault)
  const values = new URLSearchParams(query).getAll("wait")
  if (values.length === 0) return Either.right(byDefault)
  if (values.length > 1) return Either.left(new InvalidParameter({ name: "wait", detail: "may be given only once" }))
  return values[0] === "true" || values[0] === "false"
    ? Either.right(values[0] === "true")
    : Either.left(new InvalidParameter({ name: "wait", detail: "must be `true` or `false`" }))
}

/** `callback_url`: where the end of the run is sent, as `URL` writes it; given at most once. */
export const callbackUrl = (
  request: HttpServerRequest.HttpServerRequest
): Either.Either<string | undefined, InvalidParameter> => {
  const query = search(request)
  if (query === "") return Either.right(undefined)
  const values = new URLSearchParams(query).getAll("callback_url")
  if (values.length === 0) return Either.right(undefined)
  const url = values.length === 1 ? normalized(values[0]!) : Either.left("may be given only once")
  return Either.mapLeft(url, (detail) => new InvalidParameter({ name: "callback_url", detail }))
}
