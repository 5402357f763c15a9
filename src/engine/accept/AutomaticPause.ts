import { DateTime, Duration, Effect, Layer, Schedule } from "effect"
import { alertIdAt } from "../../domain/Id.ts"
import { PauseStore } from "../../repo/manage/PauseStore.ts"
import * as Audit from "../access/Audit.ts"
import { CurrentLanes } from "../dispatch/CurrentLanes.ts"

const pollInterval = Duration.seconds(1)

/**
 * Pauses webhooks with `pause_after_failures` whose runs fail in a row, and resumes them after a success. Driven by the
 * rows, so the end of a run does nothing for it. The server that sends the prompts does it; that two do it does no harm.
 */
export const layer: Layer.Layer<never, never, CurrentLanes | PauseStore> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const lanes = yield* CurrentLanes
    const store = yield* PauseStore

    const change = Effect.gen(function* () {
      if (lanes.get() === undefined) return
      for (const { failures, version, webhook_id } of yield* store.pausesDue) {
        const at = yield* DateTime.now
        if (failures === undefined) {
          const audit = yield* Audit.automaticDraft("webhook.resumed")
          yield* store.resumeWebhook(webhook_id, at, { version, audit })
        } else {
          const alert = { id: alertIdAt(DateTime.toEpochMillis(at)), at }
          yield* store.pauseWebhook(
            { webhook_id, version, failures },
            alert,
            yield* Audit.automaticDraft("webhook.paused")
          )
        }
      }
    }).pipe(Effect.ignoreLogged, Effect.withSpan("AutomaticPause"))
    yield* Effect.forkScoped(Effect.repeat(change, Schedule.spaced(pollInterval)))
  })
)
