/** The parts of a plan. */
import type { AlertRule } from "../../domain/alert/AlertRule.ts"
import type { Destination } from "../../domain/delivery/Destination.ts"
import type { Team } from "../../domain/Team.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import type { Fields } from "./SecretReferences.ts"
import type { WantedWebhook } from "./Wanted.ts"
import type { WantedDestination } from "./WantedDestination.ts"

/** Of a field: its old and its new value. Absent: not set. Secrets are shown by their last characters. */
export interface Change {
  readonly field: string
  readonly from?: unknown
  readonly to?: unknown
}

export interface Step<Before> {
  readonly action: "create" | "change" | "delete" | "keep"
  readonly name: string
  readonly before: Before | undefined
  readonly changes: ReadonlyArray<Change>
  /** What could not be compared. */
  readonly notes: ReadonlyArray<string>
  /** The body of the request. */
  readonly payload: Fields
}

export interface DestinationStep extends Step<Destination> {
  readonly wanted: WantedDestination | undefined
}

/** If its webhook or destinations are created first, the payload has a `reference` in place of the ID. */
export type RuleStep = Step<AlertRule>

export interface WebhookStep extends Step<Webhook> {
  readonly wanted: WantedWebhook | undefined
  readonly destinations: ReadonlyArray<DestinationStep>
}

export interface Plan {
  readonly teams: ReadonlyArray<Step<Team>>
  readonly webhooks: ReadonlyArray<WebhookStep>
  readonly alertDestinations: ReadonlyArray<DestinationStep>
  readonly alertRules: ReadonlyArray<RuleStep>
  /** What the server has and the files do not, if it is left alone. */
  readonly left: ReadonlyArray<string>
}

export interface Alerts {
  readonly destinations: ReadonlyArray<Destination>
  readonly rules: ReadonlyArray<AlertRule>
}

export interface State {
  readonly teams: ReadonlyArray<Team>
  readonly webhooks: ReadonlyArray<Webhook>
  /** By the webhook's id. */
  readonly destinations: ReadonlyMap<string, ReadonlyArray<Destination>>
  /** Absent: they are not compared or exported. */
  readonly alerts: Alerts | undefined
}

export interface PlanOptions {
  /** Delete what the files do not have. */
  readonly prune: boolean
  /** Set all secrets again, also those that look the same. */
  readonly resetSecrets: boolean
}
