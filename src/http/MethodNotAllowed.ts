/** The router knows a path only under its methods, and answers 404 to the others: here they get 405. */
import { HttpApi, HttpLayerRouter, type HttpMethod } from "@effect/platform"
import { MethodNotAllowed } from "../domain/Errors.ts"
import * as Access from "./Access.ts"

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

const routesOf = (path: `/${string}`, taken: ReadonlySet<string>) => {
  const allow = methods.filter((method) => taken.has(method))
  const refuse = Access.observe(path, new MethodNotAllowed({ allow: allow.join(", ") }))
  return methods
    .filter((method) => !taken.has(method))
    .map((method) => HttpLayerRouter.route(method as Exclude<HttpMethod.HttpMethod, "HEAD">, path, refuse))
}

/** Refuses every method on these paths but the ones they are given; who can GET can HEAD. */
export const layer = (paths: ReadonlyMap<`/${string}`, ReadonlySet<string>>) =>
  HttpLayerRouter.addAll(
    [...paths].flatMap(([path, taken]) => routesOf(path, taken.has("GET") ? new Set([...taken, "HEAD"]) : taken))
  )

/** The paths of the APIs that are served together. */
export const pathsOf = (...apis: ReadonlyArray<HttpApi.HttpApi.Any>): Map<`/${string}`, Set<string>> => {
  const paths = new Map<`/${string}`, Set<string>>()
  for (const api of apis) {
    HttpApi.reflect(api as HttpApi.HttpApi<string>, {
      onGroup: () => {},
      onEndpoint: ({ endpoint: { path, method } }) => paths.set(path, new Set([...(paths.get(path) ?? []), method]))
    })
  }
  return paths
}
