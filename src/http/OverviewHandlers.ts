import { HttpApiBuilder, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { DateTime, Duration, Effect } from "effect"
import { Api } from "../api/Api.ts"
import { pageSize } from "../api/PageSize.ts"
import { Overview } from "../engine/Overview.ts"
import { Settings } from "../engine/Settings.ts"
import { maxQueuedOfWebhook } from "../engine/SettingsConfig.ts"
import { Trigger } from "../engine/Trigger.ts"
import * as Body from "./Body.ts"
import { clientAddress } from "./ClientAddress.ts"
import * as ErrorResponse from "./ErrorResponse.ts"
import { Events } from "./Events.ts"
import * as Idempotency from "./Idempotency.ts"
import * as Problems from "./Problems.ts"
import { makeOriginFor } from "./PublicUrl.ts"
import * as RunAnswer from "./RunAnswer.ts"
import { ServerFacts } from "./ServerFacts.ts"
import { Sessions } from "./Sessions.ts"
import { TrustedProxies } from "./TrustedProxies.ts"

export const layer = HttpApiBuilder.group(Api, "overview", (handlers) =>
  Effect.gen(function* () {
    const overview = yield* Overview
    const trigger = yield* Trigger
    const events = yield* Events
    const settings = yield* Settings
    const originFor = yield* makeOriginFor
    const facts = yield* ServerFacts
    const sessions = yield* Sessions
    const proxies = yield* TrustedProxies

    /** Whose stream it is: programs with the admin key have no session, and count by their address. */
    const sessionOf = (request: HttpServerRequest.HttpServerRequest): string =>
      sessions.cookieOf(request) || clientAddress(proxies, request)

    return handlers
      .handle("server", ({ request }) =>
        Effect.succeed({
          ...facts,
          public_url: originFor(request),
          webhook_timeout_seconds: Duration.toSeconds(settings.timeout),
          webhook_max_concurrent: settings.maxConcurrent,
          webhook_max_queued: maxQueuedOfWebhook(settings)
        })
      )
      .handle("activity", () => Effect.mapError(overview.activity, Problems.of))
      .handle("statistics", ({ path, urlParams }) =>
        Effect.mapError(overview.statistics(path.id, urlParams.range ?? "24h"), Problems.of)
      )
      .handle("teamRuns", ({ path, urlParams }) =>
        Effect.mapError(overview.teamRuns(path.team, urlParams.limit ?? pageSize.default), Problems.of)
      )
      .handleRaw("run", ({ path, urlParams, request }) =>
        Effect.gen(function* () {
          const received_at = yield* DateTime.now
          const webhook = yield* trigger.open(path.id)
          const variables = yield* Body.readVariables(request, { limit_bytes: settings.maxBody })
          const idempotency = yield* Idempotency.read(request, variables)
          const wait = urlParams.wait === "true"
          return RunAnswer.ofRun(
            request,
            yield* trigger.trigger(webhook, { variables, received_at, wait, ...idempotency })
          )
        }).pipe(
          Effect.catchTag("RateLimited", (refusal) => Effect.succeed(ErrorResponse.ofRefusal(refusal))),
          Effect.mapError(Problems.of)
        )
      )
      .handleRaw("events", ({ request }) =>
        events
          .open(sessionOf(request), () => Body.nodeRequest(request)?.destroy())
          .pipe(
            Effect.map((stream) =>
              HttpServerResponse.stream(stream, {
                contentType: "text/event-stream",
                // Keeps proxies such as nginx from buffering the events.
                headers: { "x-accel-buffering": "no" }
              })
            ),
            Effect.mapError(Problems.of)
          )
      )
  })
)
