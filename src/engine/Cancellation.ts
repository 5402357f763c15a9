import { Context, DateTime, Effect, Layer } from "effect"
import { NotFound, RunEnded, type Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import type { Run } from "../domain/Run.ts"
import { type QueuedRuns, RunStore } from "../repo/RunStore.ts"
import { TeamStore } from "../repo/TeamStore.ts"
import { WebhookStore } from "../repo/WebhookStore.ts"
import { Outcomes } from "./Outcomes.ts"
import { teamNamed } from "./Teams.ts"
import { webhookIdOf } from "./Webhooks.ts"

/**
 * Cancelling runs. A cancelled run has ended for callers and in the history at once. One that waits in its lane is never
 * sent. Of one that was sent, the dispatcher asks the leader to stop (`Lanes.ts`).
 */
export class Cancellation extends Context.Tag("webhook-trigger/Cancellation")<
  Cancellation,
  {
    /**
     * Gives the run as it is then; one that is cancelled already stays as it is. One that has failed and would be tried again
     * is not. `RunEnded`: it ended in another way.
     */
    readonly cancel: (id: RunId) => Effect.Effect<Run, NotFound | RunEnded | Unavailable>
    /** Cancels all that waits in the lanes for this webhook; returns how many runs that were. The id comes as written. */
    readonly cancelQueuedOfWebhook: (id: string) => Effect.Effect<number, NotFound | Unavailable>
    /** Cancels all that waits in this team's lane, messages too; returns how many runs that were. */
    readonly cancelQueuedOfTeam: (team: string) => Effect.Effect<number, NotFound | Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<Cancellation, never, Outcomes | RunStore | TeamStore | WebhookStore> =
    Layer.effect(
      Cancellation,
      Effect.gen(function* () {
        const outcomes = yield* Outcomes
        const runs = yield* RunStore
        const teams = yield* TeamStore
        const webhooks = yield* WebhookStore

        const cancelQueued = (of: QueuedRuns) => Effect.flatMap(DateTime.now, (now) => runs.cancelQueued(of, now))

        return Cancellation.of({
          cancel: Effect.fn("Cancellation.cancel")(function* (run_id) {
            const run = yield* outcomes.end(run_id, { status: "cancelled" })
            if (run === undefined) return yield* new NotFound()
            const { retry_at, ...ended } = run
            if (run.status === "cancelled") return run
            if (retry_at && (yield* runs.callOffRetries([run_id])).has(run_id)) return ended
            return yield* new RunEnded({ run_id, status: run.status })
          }),
          cancelQueuedOfWebhook: Effect.fn("Cancellation.cancelQueuedOfWebhook")(function* (id) {
            const webhook = yield* Effect.flatMap(webhookIdOf(id), webhooks.webhook)
            return yield* cancelQueued({ webhook_id: webhook.id })
          }),
          cancelQueuedOfTeam: Effect.fn("Cancellation.cancelQueuedOfTeam")(function* (name) {
            const { team } = yield* Effect.flatMap(teamNamed(name), teams.team)
            return yield* cancelQueued({ team })
          })
        })
      })
    )
}
