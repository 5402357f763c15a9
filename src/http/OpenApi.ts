/** The contract for programs: OpenAPI 3.1, derived from the API's definition. */
import { HttpServerResponse, OpenApi } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../api/Api.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

const header = (description: string) => ({ description, schema: { type: "string" } })

/** The headers that come with a status, as `Problems.headersOf` and the routes send them. */
const headers: { readonly [status: string]: { readonly [name: string]: unknown } } = {
  202: { Location: header("The address of the run; only in the response to a trigger.") },
  401: { "WWW-Authenticate": header("`Bearer`.") },
  405: { Allow: header("The methods that the address accepts.") },
  429: { "Retry-After": header("Seconds.") },
  503: { "Retry-After": header("Seconds.") }
}

/** Effect repeats the same `$id` in several schemas, which makes references ambiguous. */
const withoutIds = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutIds)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).filter(([key, it]) => key !== "$id" || typeof it !== "string")
  return Object.fromEntries(entries.map(([key, it]) => [key, withoutIds(it)]))
}

const withHeaders = (spec: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  for (const path of Object.values(spec.paths)) {
    for (const operation of Object.values(path)) {
      for (const [status, response] of Object.entries(operation.responses)) {
        if (headers[status] !== undefined) Object.assign(response, { headers: headers[status] })
      }
    }
  }
  return spec
}

/** Built with the layers that serve it, so that a program which only imports the package does not pay for it. */
export const makeDocument = (): OpenApi.OpenAPISpec =>
  withHeaders(withoutIds(OpenApi.fromApi(Api)) as OpenApi.OpenAPISpec)

export const layer = ReadOnlyRoute.layer(
  "/openapi.json",
  Effect.sync(() => Effect.succeed(HttpServerResponse.unsafeJson(makeDocument())))
)
