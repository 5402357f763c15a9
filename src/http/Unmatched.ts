/** What no route matches: 405 for a known path with another method, else 404. */
import { METHODS } from "node:http"
import { HttpApi, HttpLayerRouter, type HttpMethod, HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Effect, type Layer } from "effect"
import { Api } from "../api/Api.ts"
import { MethodNotAllowed } from "../domain/Errors.ts"
import { isRouteNotFound } from "./ErrorResponse.ts"
import * as RequestLog from "./RequestLog.ts"

/** In the order in which `Allow` lists them. */
const known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

/** All that a request can have. The router's own `*` misses some that are newer than it, such as QUERY. */
const methods = [...new Set([...known, ...METHODS])] as ReadonlyArray<Exclude<HttpMethod.HttpMethod, "HEAD">>

/** Leads every method to the handler. */
export const anyMethod = <E, R>(
  path: `/${string}`,
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): ReadonlyArray<HttpLayerRouter.Route<E, R>> => methods.map((method) => HttpLayerRouter.route(method, path, handler))

type Paths = ReadonlyMap<`/${string}`, ReadonlySet<string>>

const refusalsOf = (path: `/${string}`, allowed: ReadonlySet<string>) => {
  const allow = methods.filter((method) => allowed.has(method)).join(", ")
  const refuse = RequestLog.observe(path, new MethodNotAllowed({ allow }))
  return methods.filter((method) => !allowed.has(method)).map((method) => HttpLayerRouter.route(method, path, refuse))
}

/**
 * Refuses every other method on these paths; where GET is allowed, so is HEAD. Without these routes the router would
 * answer 404, because it knows a path only together with its methods.
 */
export const methodNotAllowed = (paths: Paths) =>
  HttpLayerRouter.addAll(
    [...paths].flatMap(([path, allowed]) =>
      refusalsOf(path, allowed.has("GET") ? new Set([...allowed, "HEAD"]) : allowed)
    )
  )

/** Paths that are only read. */
export const onlyGet = (paths: ReadonlyArray<`/${string}`>): Paths => {
  const get = new Set(["GET"])
  return new Map(paths.map((path) => [path, get]))
}

/** The API's paths, but for the trigger's, which check the method themselves. */
export const apiPaths = (): Paths => {
  const paths = new Map<`/${string}`, Set<string>>()
  HttpApi.reflect(Api, {
    predicate: ({ group }) => group.identifier !== "trigger",
    onGroup: () => {},
    onEndpoint: ({ endpoint: { path, method } }) => paths.set(path, new Set([...(paths.get(path) ?? []), method]))
  })
  return paths
}

type Response = HttpServerResponse.HttpServerResponse

type Request = HttpServerRequest.HttpServerRequest

/** A page for people, in place of a problem. */
export type NotFoundPage = (request: Request) => Response

/** What is for programs, also when a browser asks. */
const forPrograms = /^\/(api|assets|webhook)(\/|$)/

/** Somebody has typed the address, or followed a link to it. */
const isNavigation = ({ method, url, headers }: Request) =>
  (method === "GET" || method === "HEAD") && /\btext\/html\b/.test(headers.accept ?? "") && !forPrograms.test(url)

/** Answers what no route matches: an unknown path, one that cannot be decoded, or a part that is too long. */
export const answerNotFound =
  (page?: NotFoundPage) =>
  <E, R>(app: Effect.Effect<Response, E, R>) =>
    Effect.catchAll(app, (error) =>
      isRouteNotFound(error)
        ? Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
            RequestLog.observeUnknownPath(
              request,
              page && isNavigation(request) ? Effect.sync(() => page(request)) : Effect.fail(error)
            )
          )
        : Effect.fail(error)
    )

/** For a server of its own; a host answers unknown paths in its own way. */
export const notFound = (page?: NotFoundPage): Layer.Layer<never, never, HttpLayerRouter.HttpRouter> =>
  HttpLayerRouter.middleware(answerNotFound(page), { global: true })
