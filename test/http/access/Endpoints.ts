/** All endpoints of the management, and requests to them. */
import { Effect } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../../src/api/Api.ts"

export interface Endpoint {
  readonly method: string
  /** With the names of its parameters. */
  readonly path: string
}

export const managementEndpoints: ReadonlyArray<Endpoint> = (() => {
  const found: Array<Endpoint> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: { method, path } }) => {
      if (path.startsWith("/api/") && path !== "/api/session") found.push({ method, path })
    }
  })
  return found
})()

export const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`

/** The path of a request; parameters without a value get an ID that nothing has. */
export const pathWith = (path: string, values: { readonly [name: string]: string } = {}): string =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? "01890a5d-ac96-774b-bcce-b302099a8057")

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Only the status and the code: a stream would not end. */
export const statusOf = (origin: string, { method, path }: Endpoint, headers: Record<string, string>) =>
  Effect.promise(async (signal) => {
    const abort = new AbortController()
    signal.addEventListener("abort", () => abort.abort())
    const response = await fetch(`${origin}${path}`, {
      method,
      signal: abort.signal,
      headers: { ...headers, "content-type": "application/json" },
      ...(method !== "GET" && method !== "DELETE" && { body: "{}" })
    })
    const isProblem = response.headers.get("content-type") === "application/problem+json"
    const problem = isProblem
      ? ((await response.json()) as { readonly code: string; readonly detail: string })
      : undefined
    abort.abort()
    return { status: response.status, code: problem?.code, detail: problem?.detail }
  })
