import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { AlertId, WebhookId } from "../../domain/Id.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"

/** A webhook whose pause is about to begin or to end. */
export interface PauseDue extends Pick<WebhookRow, "version"> {
  readonly webhook_id: WebhookId
  /** The number of runs that failed in a row. Absent: it is paused, and must be resumed. */
  readonly failures?: number
}

/**
 * The most successes that `pausesDue` reads of a webhook, and how many failures it reads beyond `pause_after_failures`. This
 * is enough for runs that end in another order than they were accepted in.
 */
export const newestRuns = 50

/** The keys of windows that keep runs until their webhook is resumed begin so. No other key has a space. */
export const keptKey = "paused "

/**
 * The automatic pause of webhooks. A pause is an alert, too: its beginning and its end write the deliveries of messages to
 * the alert destinations in the same commit. Both give the webhook a new version, so that no replica accepts a request by
 * the old one.
 */
export class PauseStore extends Context.Tag("webhook-trigger/PauseStore")<
  PauseStore,
  {
    /** Whether any webhook has `pause_after_failures` or is paused. */
    readonly anyMayPause: Effect.Effect<boolean, Unavailable>
    /**
     * Webhooks to pause: enabled ones with at least `pause_after_failures` failures or timeouts in a row since
     * `failures_since`, in the order of acceptance. Webhooks to resume: paused ones without that limit, or with a
     * success since the pause.
     */
    readonly pausesDue: Effect.Effect<ReadonlyArray<PauseDue>, Unavailable>
    /** Pauses a webhook that still has this version. Returns whether it did. */
    readonly pauseWebhook: (
      due: PauseDue & { readonly failures: number },
      alert: { readonly id: AlertId; readonly at: DateTime.Utc },
      audit?: AuditDraft
    ) => Effect.Effect<boolean, Unavailable>
    /** Resumes a paused webhook; with `version`, only if it still has this one. Returns whether it did. */
    readonly resumeWebhook: (
      id: WebhookId,
      at: DateTime.Utc,
      options?: { readonly version?: number; readonly audit?: AuditDraft }
    ) => Effect.Effect<boolean, Unavailable>
  }
>() {}
