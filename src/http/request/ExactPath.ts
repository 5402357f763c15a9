/**
 * Paths are exact. Effect's router also ignores case, repeated and trailing slashes, decodes escapes and ends a path at
 * `;`. A proxy that protects or redacts by path would not recognize such a spelling.
 */
import type { HttpServerRequest } from "effect/http"
import { nodeRequest } from "./Body.ts"

/** A path parameter. No escapes, since no ID or name needs one. */
const parameter = "([^/?#;%]+)"

/** With the parameters as groups. A request may contain the whole URL (RFC 9112, 3.2.2). */
const compile = (route: string): RegExp =>
  new RegExp(`^(?:https?://[^/?#]*)?${route.replaceAll(/[.*]/g, "\\$&").replaceAll(/:\w+/g, parameter)}(?:\\?|$)`)

const compiled = new Map<string, RegExp>()

/** The route's path as an expression, with its parameters as groups: `/webhook/trigger/:token`. */
export const patternOf = (route: string): RegExp => {
  let pattern = compiled.get(route)
  if (pattern === undefined) {
    pattern = compile(route)
    compiled.set(route, pattern)
  }
  return pattern
}

/** Whether the URL's path is spelled exactly like the route's. */
export const isExactly = (route: string, url: string): boolean => patternOf(route).test(url)

/** The URL as it is in the request: below a host's prefix, and the whole URL if a proxy has sent that. */
export const targetOf = (request: HttpServerRequest.HttpServerRequest): string =>
  nodeRequest(request)?.url ?? request.originalUrl
