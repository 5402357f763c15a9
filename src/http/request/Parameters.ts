import { type DateTime, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidParameter } from "../../domain/Errors.ts"
import * as NotBefore from "../../domain/run/NotBefore.ts"
import { normalized } from "../../engine/trigger/Callbacks.ts"

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

/** The value of a parameter that may be given once, if it is given. */
const once = <A>(
  request: HttpServerRequest.HttpServerRequest,
  name: string,
  parse: (text: string) => Result.Result<A, string>
): Result.Result<A | undefined, InvalidParameter> => {
  const query = search(request)
  if (query === "") return Result.succeed(undefined)
  const values = new URLSearchParams(query).getAll(name)
  if (values.length === 0) return Result.succeed(undefined)
  const value = values.length === 1 ? parse(values[0]!) : Result.fail("may be given only once")
  return Result.mapError(value, (detail) => new InvalidParameter({ name, detail }))
}

/** `callback_url`: where the end of the run is sent, as `URL` writes it. */
export const callbackUrl = (request: HttpServerRequest.HttpServerRequest) => once(request, "callback_url", normalized)

/** `not_before`: when the run takes its place in the lane, at the earliest, and how the caller said that. */
export const notBefore = (request: HttpServerRequest.HttpServerRequest, now: DateTime.Utc) =>
  once(request, "not_before", (text) => Result.map(NotBefore.parse(text, now), (at) => ({ text, at })))
