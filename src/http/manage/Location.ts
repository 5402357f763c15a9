/** The address of a run that a management request has started, as `Location`. */
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { type Submitted, startedRunOf } from "../../domain/run/Submitted.ts"
import { managementUrl, mountedAt } from "../request/PublicUrl.ts"

/**
 * Below a host's prefix, too, which the router has removed from `url`. Below the path of `PUBLIC_URL`, which a proxy may
 * have removed.
 */
const prefixOf = ({ originalUrl, url }: HttpServerRequest.HttpServerRequest): string =>
  originalUrl.slice(0, -url.length).replace(/^https?:\/\/[^/]*/, "")

export const withLocation = (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
  submitted: Submitted
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(managementUrl, (url) => {
    const run_id = startedRunOf(submitted)
    return run_id === undefined
      ? response
      : HttpServerResponse.setHeader(response, "location", `${mountedAt(url)}${prefixOf(request)}/api/runs/${run_id}`)
  })
