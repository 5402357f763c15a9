import { Result } from "effect"
import type { HttpServerRequest } from "effect/http"
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
): Result.Result<boolean, InvalidParameter> => {
  const query = search(request)
  if (query === "") return Result.succeed(byDefault)
  const values = new URLSearchParams(query).getAll("wait")
  if (values.length === 0) return Result.succeed(byDefault)
  if (values.length > 1) return Result.fail(new InvalidParameter({ name: "wait", detail: "may be given only once" }))
  return values[0] === "true" || values[0] === "false"
    ? Result.succeed(values[0] === "true")
    : Result.fail(new InvalidParameter({ name: "wait", detail: "must be `true` or `false`" }))
}

/** `callback_url`: where the end of the run is sent, as `URL` writes it; given at most once. */
export const callbackUrl = (
  request: HttpServerRequest.HttpServerRequest
): Result.Result<string | undefined, InvalidParameter> => {
  const query = search(request)
  if (query === "") return Result.succeed(undefined)
  const values = new URLSearchParams(query).getAll("callback_url")
  if (values.length === 0) return Result.succeed(undefined)
  const url = values.length === 1 ? normalized(values[0]!) : Result.fail("may be given only once")
  return Result.mapError(url, (detail) => new InvalidParameter({ name: "callback_url", detail }))
}
