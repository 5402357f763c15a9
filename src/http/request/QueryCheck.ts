/** Checks the query of a management request against its endpoint's parameters. */
import { type DateTime, Effect, Option, Result, Schema, SchemaAST } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Management } from "../../api/Api.ts"
import { type Fault, Invalid, InvalidParameter, maxFaults } from "../../domain/Errors.ts"
import { faultsOf } from "../../domain/SchemaFaults.ts"
import { search } from "./Parameters.ts"

interface Endpoint {
  readonly names: ReadonlySet<string>
  readonly decode: (query: Record<string, unknown>) => Result.Result<object, InvalidParameter>
}

const none: Endpoint = { names: new Set(), decode: () => Result.succeed({}) }

const endpointOf = (schema: Schema.Codec<object, unknown>): Endpoint => {
  const decode = Schema.decodeUnknownResult(schema)
  const { ast } = schema
  const parameters = SchemaAST.isObjects(ast) ? ast.propertySignatures : []
  return {
    names: new Set(parameters.map(({ name }) => String(name))),
    decode: (query) =>
      Result.mapError(decode(query), ({ issue }) => {
        const [fault] = faultsOf(issue)
        return new InvalidParameter({ name: String(fault?.path[0] ?? ""), detail: fault?.detail ?? "is not valid" })
      })
  }
}

export const endpointKey = (method: string, path: string): string => `${method} ${path}`

/** By method and path. Parameters of endpoints without a schema are those of none. */
const endpoints = new Map<string, Endpoint>()
HttpApi.reflect(Management, {
  onGroup: () => {},
  onEndpoint: ({ endpoint: { method, path, query } }) =>
    endpoints.set(endpointKey(method, path), query === undefined ? none : endpointOf(query as never))
})

/** The query's values by name; several values of one name as an array, which no parameter accepts. */
const valuesOf = (query: string): Record<string, string | Array<string>> => {
  const parameters = new URLSearchParams(query)
  return Object.fromEntries(
    Array.from(new Set(parameters.keys()), (name) => {
      const values = parameters.getAll(name)
      return [name, values.length === 1 ? values[0]! : values]
    })
  )
}

const unknownIn = (values: object, { names }: Endpoint): ReadonlyArray<Fault> => {
  const detail =
    names.size === 0 ? "is not a parameter: this endpoint takes none" : `is not one of ${[...names].join(", ")}`
  return Object.keys(values)
    .filter((name) => !names.has(name))
    .slice(0, maxFaults)
    .map((name) => ({ pointer: name, detail }))
}

/** The fault of a period that ends before it begins; `undefined`: it has both times, and they are in order. */
export const periodFault = (
  { from, to }: { readonly from?: DateTime.Utc | undefined; readonly to?: DateTime.Utc | undefined },
  pointer = "to"
): Fault | undefined =>
  from !== undefined && to !== undefined && to.epochMilliseconds <= from.epochMilliseconds
    ? { pointer, detail: "must be after `from`" }
    : undefined

/** Refuses unknown parameters, invalid values, and a `to` that is not after `from`. */
export const check: Effect.Effect<
  void,
  Invalid | InvalidParameter,
  HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext
> = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
  const query = search(request)
  if (query === "") return Effect.void
  return Effect.flatMap(HttpRouter.RouteContext, ({ route }) => {
    // Below a host's prefix, which is in the route's path.
    const path = route.path.slice(Option.getOrElse(route.prefix, () => "").length)
    const endpoint = endpoints.get(endpointKey(route.method, path)) ?? none
    const values = valuesOf(query)
    const unknown = unknownIn(values, endpoint)
    if (unknown.length > 0) return new Invalid({ faults: unknown })
    return Effect.flatMap(Effect.fromResult(endpoint.decode(values)), (decoded) => {
      const fault = periodFault(decoded)
      return fault === undefined ? Effect.void : new Invalid({ faults: [fault] })
    })
  })
})
