import type { HttpServerRequest } from "@effect/platform"
import { Effect } from "effect"
import { InvalidParameter } from "../domain/Errors.ts"

/** `wait`, once and exactly `true` or `false`; not given: false. */
export const wait = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<boolean, InvalidParameter> => {
  const { url } = request
  const query = url.indexOf("?")
  if (query < 0) return Effect.succeed(false)
  const given = new URLSearchParams(url.slice(query + 1)).getAll("wait")
  if (given.length === 0) return Effect.succeed(false)
  if (given.length > 1) return new InvalidParameter({ name: "wait", detail: "may be given once" })
  return given[0] === "true" || given[0] === "false"
    ? Effect.succeed(given[0] === "true")
    : new InvalidParameter({ name: "wait", detail: "takes `true` or `false`" })
}
