/** What an event is about. */
import type { DateTime } from "effect"
import type { Alert } from "../../domain/alert/Alert.ts"
import { type AlertEvent, type DestinationRunEvent, isEarly } from "../../domain/delivery/DestinationEvent.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"

/** The start or the end of a run. */
export interface RunSubject {
  readonly event: DestinationRunEvent
  /** When it happened. Default: when the run ended. */
  readonly at?: DateTime.Utc
  readonly run: Run
  readonly webhook: Pick<Webhook, "id" | "name">
  readonly isTest?: boolean
}

export interface AlertSubject {
  readonly event: AlertEvent
  readonly alert: Alert
  readonly isTest?: boolean
}

export type Subject = RunSubject | AlertSubject

/** When it happened. */
export const timeOf = (subject: Subject): DateTime.Utc | undefined =>
  "run" in subject
    ? isEarly(subject.event)
      ? subject.at
      : subject.run.finished_at
    : (subject.alert.resolved_at ?? subject.alert.since)
