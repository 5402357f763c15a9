/** The contract for programs: OpenAPI 3.1, derived from the API's definition. */
import { Effect, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { ruleOf } from "../../api/access/Rules.ts"
import { tokenScheme } from "../../api/run/Trigger.ts"
import { leastRoleFor } from "../../domain/access/Roles.ts"
import { ifApiDocs } from "../access/OperationsAccess.ts"
import { managementUrl } from "../request/PublicUrl.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

const header = (description: string) => ({ description, schema: { type: "string" } })

/** The headers of a status, as sent by `Problems.headersOf` and the routes. */
const headers: { readonly [status: string]: { readonly [name: string]: unknown } } = {
  202: { Location: header("The address of the run.") },
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

const objectsIn = (value: unknown): ReadonlyArray<Record<string, unknown>> => {
  if (Array.isArray(value)) return value.flatMap(objectsIn)
  if (typeof value !== "object" || value === null) return []
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(objectsIn)]
}

/**
 * Effect forbids unknown keys everywhere. The server refuses them only in bodies of the management API: a trigger
 * ignores them, and a later release may add fields to responses.
 */
const withOpenObjects = (spec: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  const bodies = Object.entries(spec.paths)
    .filter(([path]) => path.startsWith("/api/"))
    .flatMap(([, methods]) => objectsIn(methods).flatMap(({ requestBody }) => objectsIn(requestBody)))
  const referenced = bodies.map(({ $ref }) => spec.components.schemas[String($ref).replace(/.*\//, "")])
  const closed = new Set<unknown>([...bodies, ...referenced])
  for (const object of objectsIn(spec)) {
    if (object.additionalProperties === false && !closed.has(object)) delete object.additionalProperties
  }
  return spec
}

const methods = ["get", "post", "put", "patch", "delete"] as const

export const operationsIn = ({ paths }: OpenApi.OpenAPISpec) =>
  Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      return operation === undefined ? [] : [{ path, method, operation }]
    })
  )

const withHeaders = (spec: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  for (const { operation } of operationsIn(spec)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      if (headers[status] !== undefined) Object.assign(response, { headers: headers[status] })
    }
  }
  return spec
}

/** Effect describes only the parameters' schemas, and most tools show only a parameter's own description. */
const withParameterDescriptions = (spec: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  for (const { operation } of operationsIn(spec)) {
    for (const parameter of operation.parameters) {
      const { description }: { readonly description?: string } = parameter.schema
      if (description !== undefined) parameter.description = description
    }
  }
  return spec
}

/** Refused for its role are only requests that not every role allows. */
const withRoles = (spec: OpenApi.OpenAPISpec): OpenApi.OpenAPISpec => {
  for (const { operation } of operationsIn(spec)) {
    const [group = "", endpoint = ""] = operation.operationId.split(".")
    const rule = ruleOf(group, endpoint)
    const refused = operation.responses[403]
    if (rule === undefined || refused === undefined) continue
    const [permission, scope] = rule
    if (permission === "follow" && scope !== "server") delete operation.responses[403]
    else
      refused.description = `The key's role or teams do not allow this. It needs the role \`${leastRoleFor(permission)}\`.`
  }
  return spec
}

/** `server` is its address for callers. */
export const makeDocument = (server = "/"): OpenApi.OpenAPISpec => {
  const plain = withOpenObjects(withoutIds(OpenApi.fromApi(Api)) as OpenApi.OpenAPISpec)
  const spec = withRoles(withHeaders(withParameterDescriptions(plain)))
  spec.components.securitySchemes[tokenScheme] = {
    type: "http",
    scheme: "bearer",
    description: "A webhook's token, if it is not in the path."
  }
  const info = { ...spec.info, contact: { name: "The operator of this server" } }
  return { ...spec, info, servers: [{ url: server }] }
}

/** Created by the first request for it: most servers never get one. */
export const layer = ifApiDocs(
  ReadOnlyRoute.layer(
    "/openapi.json",
    Effect.flatMap(managementUrl, (url) =>
      Effect.cached(Effect.sync(() => HttpServerResponse.jsonUnsafe(makeDocument(Option.getOrElse(url, () => "/")))))
    )
  )
)
