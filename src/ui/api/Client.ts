import routes from "virtual:api-routes"
import type { DateTime } from "effect"
import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Api } from "../../api/Api.ts"
import * as Json from "../../domain/Json.ts"
import { mount } from "../frame/UiPath.ts"
import { ApiError, NetworkError, type Problem } from "./Errors.ts"

/** A value in JSON: times are strings, and there are no brands. */
export type InJson<T> = unknown extends T
  ? unknown
  : T extends DateTime.Utc
    ? string
    : T extends string
      ? string extends T
        ? string
        : T extends `${infer Plain}`
          ? Plain
          : string
      : T extends number | boolean | null | undefined
        ? T
        : T extends ReadonlyArray<infer Item>
          ? ReadonlyArray<InJson<Item>>
          : T extends object
            ? { readonly [Key in keyof T]: InJson<T[Key]> }
            : T

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer G> ? G : never

// `never` means that the endpoint does not have this part.
type Part<Name extends string, T> = [T] extends [never] ? unknown : { readonly [Key in Name]: InJson<T> }

type TypeOf<S> = S extends { readonly Type: infer T } ? T : never

type Method<Endpoint> = (
  request: Part<"path", TypeOf<HttpApiEndpoint.Params<Endpoint>>> &
    Part<"query", TypeOf<HttpApiEndpoint.Query<Endpoint>>> &
    Part<"payload", TypeOf<HttpApiEndpoint.Payload<Endpoint>>> &
    Part<"headers", TypeOf<HttpApiEndpoint.Headers<Endpoint>>> & { readonly signal?: AbortSignal }
) => Promise<InJson<TypeOf<HttpApiEndpoint.Success<Endpoint>>>>

/** One function per endpoint, by group. */
type Client = {
  readonly [G in Groups as G["identifier"]]: {
    readonly [E in HttpApiGroup.Endpoints<G> as E["identifier"]]: Method<E>
  }
}

interface Request {
  readonly path?: Record<string, string>
  readonly query?: Record<string, unknown>
  readonly payload?: unknown
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

const call = async (method: string, template: string, request: Request): Promise<unknown> => {
  const path = template.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(request.path?.[name] ?? ""))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined && value !== "") query.set(name, String(value))
  }
  const url = mount + (query.size > 0 ? `${path}?${query}` : path)
  let response: Response
  let text: string
  try {
    response = await fetch(url, {
      method,
      credentials: "same-origin",
      headers: {
        ...(request.payload === undefined ? {} : { "content-type": "application/json" }),
        ...request.headers
      },
      ...(request.payload === undefined ? {} : { body: Json.stringify(request.payload) }),
      ...(request.signal ? { signal: request.signal } : {})
    })
    text = await response.text()
  } catch (cause) {
    if (request.signal?.aborted) throw cause
    throw new NetworkError()
  }
  const body = parse(text)
  if (response.ok) return body
  throw new ApiError(response, (body ?? {}) as Problem)
}

/** With numbers of callers as they were written. */
const parse = (text: string): unknown => {
  try {
    return text === "" ? undefined : Json.withPlainNumbers(Json.parse(text), Json.ofCallers)
  } catch {
    return undefined
  }
}

export const api = Object.fromEntries(
  Object.entries(routes).map(([group, endpoints]) => [
    group,
    Object.fromEntries(
      Object.entries(endpoints).map(([name, [method, path]]) => [
        name,
        (request: Request) => call(method, path, request)
      ])
    )
  ])
) as unknown as Client

/** The requests about the destinations of a webhook; without one, about alert destinations. */
export const destinationsOf = (webhook_id: string | undefined): Client["destinations"] =>
  webhook_id === undefined ? api.alertDestinations : api.destinations
