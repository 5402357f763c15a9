import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Clock, Duration, Effect, Stream } from "effect"
import type { Accepted, Answered, Failed, TimedOut } from "../api/Trigger.ts"
import { SessionApi } from "../api/UiApi.ts"
import type { Run } from "../domain/Run.ts"
import { Settings } from "../engine/Settings.ts"
import { Overview } from "../engine/Overview.ts"
import { Trigger } from "../engine/Trigger.ts"
import * as Access from "./Access.ts"
import * as Body from "./Body.ts"
import { Events } from "./Events.ts"
import * as Problems from "./Problems.ts"
import { originFor, PublicUrl } from "./PublicUrl.ts"
import { ServerFacts } from "./ServerFacts.ts"
import { variablesIn } from "./TriggerRoutes.ts"

/** What the sender is told, once it is clear. */
type Reply = Effect.Effect<typeof Accepted.Type | typeof Answered.Type, typeof Failed.Type | typeof TimedOut.Type>

const outcome = ({ run_id, status, conversation, error }: Run): Reply => {
  switch (status) {
    case "success":
      return Effect.succeed({ status, response: conversation.response ?? "", run_id })
    case "error":
      return Effect.fail({ status, run_id, error: error! })
    default:
      return Effect.fail({ status: "timeout", run_id })
  }
}

export const layer = HttpApiBuilder.group(SessionApi, "overview", (handlers) =>
  Effect.gen(function* () {
    const overview = yield* Overview
    const trigger = yield* Trigger
    const events = yield* Events
    const settings = yield* Settings
    const publicUrl = yield* PublicUrl
    const facts = yield* ServerFacts

    return handlers
      .handle("server", ({ request }) =>
        Effect.succeed({
          ...facts,
          public_url: originFor(publicUrl, request),
          webhook_timeout_seconds: Duration.toSeconds(settings.timeout),
          webhook_max_concurrent: settings.maxConcurrent,
          webhook_max_queued: settings.maxQueued
        })
      )
      .handle("activity", () => Effect.mapError(overview.activity, Problems.of))
      .handle("statistics", ({ path, urlParams }) =>
        Effect.mapError(overview.statistics(path.id, urlParams.range ?? "24h"), Problems.of)
      )
      .handle("teamRuns", ({ path, urlParams }) =>
        Effect.mapError(overview.teamRuns(path.team, urlParams.limit ?? 20), Problems.of)
      )
      .handleRaw("run", ({ path, urlParams, request }) =>
        Effect.gen(function* () {
          const received_at = yield* Clock.currentTimeMillis
          const entry = yield* overview.entry(path.id)
          const variables = yield* variablesIn(yield* Body.readObject(request, settings.maxBody))
          if (urlParams.wait === "true") {
            const run = yield* trigger.ask(entry, { variables, received_at })
            yield* Access.about(run.run_id)
            return outcome(run)
          }
          const run_id = yield* trigger.submit(entry, { variables, received_at })
          yield* Access.about(run_id)
          return Effect.succeed({ status: "accepted", run_id }) as Reply
        }).pipe(Effect.mapError(Problems.of), Effect.flatten)
      )
      .handleRaw("events", () =>
        Effect.succeed(
          HttpServerResponse.stream(Stream.encodeText(events.stream), {
            contentType: "text/event-stream",
            // Tells proxies such as nginx not to hold the events back.
            headers: { "x-accel-buffering": "no" }
          })
        )
      )
  })
)
