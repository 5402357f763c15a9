import { DateTime, Duration, Effect, Layer, Schedule } from "effect"
import { alertIdAt } from "../../domain/Id.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { PauseStore } from "../../repo/manage/PauseStore.ts"
import * as UsedGate from "../../runtime/UsedGate.ts"
import * as Audit from "../access/Audit.ts"
import { CurrentLanes } from "../dispatch/CurrentLanes.ts"

const pollInterval = Duration.seconds(1)
/** How often to look for webhooks that could be paused, after none was found and without a notification of a change. */
const skipFor = Duration.seconds(60)

/**
 * Pauses webhooks with `pause_after_failures` whose runs fail in a row, and resumes them after a success. It reads
 * the rows, so the end of a run does no work for it. The server that sends the prompts does it. Two at once do no harm.
 */
export const layer: Layer.Layer<never, never, ChangeFeed | CurrentLanes | PauseStore> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const lanes = yield* CurrentLanes
    const store = yield* PauseStore
    const feed = yield* ChangeFeed
    const { askAgain, isUsed } = yield* UsedGate.make(store.anyMayPause, skipFor)
    yield* feed.listen((changes) => {
      if (changes.some(({ _tag }) => _tag === "WebhookChanged")) askAgain()
    })

    const change = Effect.gen(function* () {
      if (lanes.get() === undefined || !(yield* isUsed)) return
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
