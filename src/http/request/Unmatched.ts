/** Requests without a route: 405 for a known path with another method, else 404. */
import { METHODS } from "node:http"
import { Context, Effect, Layer } from "effect"
import { type HttpMethod, HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Management } from "../../api/Api.ts"
import { MethodNotAllowed } from "../../domain/Errors.ts"
import { isRouteNotFound } from "./ErrorResponse.ts"
import * as RequestLog from "./RequestLog.ts"

/** In the order in which `Allow` lists them. */
const common = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as ReadonlyArray<HttpMethod.HttpMethod>

/** Other methods. */
const rare = METHODS.filter((method) => !common.some((one) => one === method)) as ReadonlyArray<HttpMethod.HttpMethod>

type Paths = ReadonlyMap<`/${string}`, ReadonlySet<string>>

const refusalsOf = (path: `/${string}`, allowed: ReadonlySet<string>, methods: typeof common) => {
  const all = allowed.has("GET") ? new Set([...allowed, "HEAD"]) : allowed
  const allow = common.filter((method) => all.has(method)).join(", ")
  const refuse = Effect.fail(new MethodNotAllowed({ allow }))
  return methods.filter((method) => !all.has(method)).map((method) => HttpRouter.route(method, path, refuse))
}

type Refuse = HttpRouter.Request.From<"Error", MethodNotAllowed>

/**
 * Adds routes that refuse every other method on these paths; those for rare methods only when a request first uses one.
 * Two thousand routes for methods that are hardly ever used would take a third of the CPU time of a start.
 */
class Refusals extends Context.Service<Refusals, (paths: Paths) => Effect.Effect<void, never, Refuse>>()(
  "webhook-trigger/Refusals"
) {
  static readonly layer = Layer.effect(
    Refusals,
    Effect.gen(function* () {
      const router = yield* HttpRouter.HttpRouter
      const additions: Array<(methods: typeof common) => Effect.Effect<void>> = []
      const added = new Map<string, Effect.Effect<void>>()
      for (const method of rare) {
        const add = Effect.forEach(additions, (add) => add([method]), { discard: true })
        added.set(method, yield* Effect.cached(Effect.uninterruptible(add)))
      }
      yield* router.addGlobalMiddleware((app) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method }) => {
          const add = added.get(method)
          return add === undefined ? app : Effect.andThen(add, app)
        })
      )
      return (paths: Paths) =>
        Effect.contextWith((context: Context.Context<Refuse>) => {
          // With the middleware of these routes.
          const add = (methods: typeof common) =>
            Effect.provideContext(
              router.addAll([...paths].flatMap(([path, allowed]) => refusalsOf(path, allowed, methods))),
              context
            )
          additions.push(add)
          return add(common)
        })
    })
  )
}

/**
 * Refuses every other method on these paths; where GET is allowed, so is HEAD. Without these routes, the router would
 * answer 404, because it only knows paths together with their methods.
 */
export const methodNotAllowed = (paths: Paths): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  Layer.effectDiscard(Effect.flatMap(Refusals, (refuse) => refuse(paths))).pipe(
    Layer.provide([Refusals.layer, RequestLog.layer])
  )

/** Read-only paths. */
export const onlyGet = (paths: ReadonlyArray<`/${string}`>): Paths => {
  const get = new Set(["GET"])
  return new Map(paths.map((path) => [path, get]))
}

/** The triggers' check the method themselves. */
export const apiPaths = (): Paths => {
  const paths = new Map<`/${string}`, Set<string>>()
  HttpApi.reflect(Management, {
    onGroup: () => {},
    onEndpoint: ({ endpoint: { method, path } }) =>
      paths.set(path as `/${string}`, new Set([...(paths.get(path as `/${string}`) ?? []), method]))
  })
  return paths
}

type Response = HttpServerResponse.HttpServerResponse

type Request = HttpServerRequest.HttpServerRequest

/** A page for people, instead of a problem. */
type NotFoundPage = (request: Request) => Response

/** Paths for programs, even if a browser requests them. */
const forPrograms = /^\/(api|assets|leader|webhook)(\/|$)/

/** A person has typed the address, or followed a link to it. */
const isNavigation = ({ method, url, headers }: Request) =>
  (method === "GET" || method === "HEAD") && /\btext\/html\b/.test(headers.accept ?? "") && !forPrograms.test(url)

/**
 * Answers requests without a route: an unknown path, one that cannot be decoded, or one with a part that is too long.
 */
export const answerNotFound =
  (page?: NotFoundPage) =>
  <E, R>(app: Effect.Effect<Response, E, R>) =>
    Effect.catch(app, (error) =>
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
export const notFound = (page?: NotFoundPage): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.middleware(answerNotFound(page), { global: true })
