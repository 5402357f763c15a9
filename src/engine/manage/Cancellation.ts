import { Context, DateTime, Effect, Layer } from "effect"
import { NotFound, RunEnded, type Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import { teamNameOf, webhookIdOf } from "../../domain/ParsedId.ts"
import type { CancelledBy, Run } from "../../domain/run/Run.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import { type QueuedRuns, RunStore } from "../../repo/run/RunStore.ts"
import { Origin } from "../access/Audit.ts"
import { Steps } from "../step/Steps.ts"

/** A request without an admin's session or key is one of the webhook's callers, with its token. */
const whoCancels: Effect.Effect<CancelledBy> = Effect.map(Origin, ({ actor }) =>
  actor === "unknown" ? "caller" : actor
)

interface CancelOptions {
  /** Cancels nothing; returns what would be cancelled. */
  readonly dryRun?: boolean
}

export interface CancelledCounts {
  /** Runs and messages that waited to be sent. */
  readonly cancelled: number
  /** Failed runs with a pending retry. */
  readonly retries: number
}

/**
 * Cancels runs. A cancelled run ends at once for callers and in the history. A queued run is never sent. For a run in
 * progress, the leader is told to stop (`Sender.ts`).
 */
export class Cancellation extends Context.Service<
  Cancellation,
  {
    /**
     * Returns the cancelled run; a second cancel changes nothing. A failed run loses its retry. `RunEnded`: the run ended in
     * another way.
     */
    readonly cancel: (id: RunId) => Effect.Effect<Run, NotFound | RunEnded | Unavailable>
    /** Cancels the webhook's queued runs and pending retries. */
    readonly cancelQueuedOfWebhook: (
      id: string,
      options?: CancelOptions
    ) => Effect.Effect<CancelledCounts, NotFound | Unavailable>
    /** Cancels the team's queued runs and messages, and pending retries. */
    readonly cancelQueuedOfTeam: (
      team: string,
      options?: CancelOptions
    ) => Effect.Effect<CancelledCounts, NotFound | Unavailable>
  }
>()("webhook-trigger/Cancellation") {
  static readonly layer: Layer.Layer<Cancellation, never, RunStore | Steps | TeamStore | WebhookStore> = Layer.effect(
    Cancellation,
    Effect.gen(function* () {
      const steps = yield* Steps
      const runs = yield* RunStore
      const teams = yield* TeamStore
      const webhooks = yield* WebhookStore

      /** If a webhook was moved, an actor of its new team alone may not cancel the runs of the team before. */
      const cancelQueued = (which: QueuedRuns, { dryRun = false }: CancelOptions) =>
        Effect.gen(function* () {
          const { teams: owners } = yield* Origin
          const of = { ...which, ...(owners && { owners }) }
          if (dryRun) return { cancelled: yield* runs.countQueued(of), retries: yield* runs.countRetries(of) }
          const by = yield* whoCancels
          // Retries first: one that was accepted before it could be cancelled is queued by then, and is cancelled as a run.
          const retries = yield* runs.callOffRetriesOf(of, by)
          return { cancelled: yield* runs.cancelQueued(of, { at: yield* DateTime.now, by }), retries }
        })

      return Cancellation.of({
        cancel: Effect.fn("Cancellation.cancel")(function* (run_id) {
          const cancelled_by = yield* whoCancels
          const run = yield* steps.end(run_id, { status: "cancelled", cancelled_by })
          if (run === undefined) return yield* new NotFound()
          const { retry_at, ...ended } = run
          if (run.cancelled_by !== undefined) return run
          if (retry_at && (yield* runs.callOffRetries([run_id], cancelled_by)).has(run_id)) {
            return { ...ended, cancelled_by }
          }
          return yield* new RunEnded({ run_id, status: run.status })
        }),
        cancelQueuedOfWebhook: Effect.fn("Cancellation.cancelQueuedOfWebhook")(function* (given, options = {}) {
          const { id: webhook_id } = yield* Effect.flatMap(webhookIdOf(given), webhooks.webhook)
          return yield* cancelQueued({ webhook_id }, options)
        }),
        cancelQueuedOfTeam: Effect.fn("Cancellation.cancelQueuedOfTeam")(function* (name, options = {}) {
          const { team } = yield* Effect.flatMap(teamNameOf(name), teams.team)
          return yield* cancelQueued({ team }, options)
        })
      })
    })
  )
}
