import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { Destination, DestinationEdit, DestinationRow } from "../../domain/delivery/Destination.ts"
import type { Invalid, NotFound, Unavailable } from "../../domain/Errors.ts"
import type { DestinationId, WebhookId } from "../../domain/Id.ts"

/** Fields to overwrite; `null` removes an optional one. */
export type DestinationChange = Omit<DestinationEdit, "headers" | "token"> &
  Partial<Pick<DestinationRow, "chain_teams" | "header_names" | "sealed_secret" | "secret_hint">> & {
    readonly [Field in "sealed_headers" | "old_sealed_secret" | "old_secret_valid_until" | "disabled_reason"]?:
      | DestinationRow[Field]
      | null
  } & { readonly updated_at: DateTime.Utc }

/** What is encrypted. */
export type SealedFields = Pick<DestinationRow, "sealed_headers" | "sealed_secret" | "old_sealed_secret">

/** The webhook that a destination belongs to. `null`: it gets alerts. */
export type Owner = WebhookId | null

/** Why a destination may not be beside the others of its owner; `undefined`: it may. */
export type FaultBeside = (others: ReadonlyArray<Partial<Pick<Destination, "kind" | "target">>>) => Invalid | undefined

/** The destinations of webhooks' runs and of alerts, as people manage them. A change writes its audit event in the same commit. */
export class DestinationStore extends Context.Tag("webhook-trigger/DestinationStore")<
  DestinationStore,
  {
    /**
     * `NotFound`: there is no such webhook. No other change of the owner's destinations that asks for `faultBeside` comes
     * between its answer and this one.
     */
    readonly createDestination: (
      destination: DestinationRow,
      options?: { readonly audit?: AuditDraft; readonly faultBeside?: FaultBeside }
    ) => Effect.Effect<Destination, Invalid | NotFound | Unavailable>
    /** Those of a webhook, or of alerts, oldest first. */
    readonly destinations: (owner: Owner) => Effect.Effect<ReadonlyArray<Destination>, Unavailable>
    /** All, of every webhook and of alerts. */
    readonly destinationRows: Effect.Effect<ReadonlyArray<DestinationRow>, Unavailable>
    readonly destinationRow: (owner: Owner, id: DestinationId) => Effect.Effect<DestinationRow, NotFound | Unavailable>
    /** Switched off, its pending deliveries fail. Switched on, it no longer counts as failing. `faultBeside`: as above. */
    readonly updateDestination: (
      owner: Owner,
      id: DestinationId,
      change: DestinationChange,
      options?: { readonly audit?: AuditDraft; readonly faultBeside?: FaultBeside }
    ) => Effect.Effect<Destination, Invalid | NotFound | Unavailable>
    /** Replaces what is encrypted, unless it has changed since `before` was read; returns whether it did. */
    readonly sealAgain: (before: DestinationRow, sealed: Partial<SealedFields>) => Effect.Effect<boolean, Unavailable>
    /** Deletes its deliveries, too. */
    readonly deleteDestination: (
      owner: Owner,
      id: DestinationId,
      audit?: AuditDraft
    ) => Effect.Effect<void, NotFound | Unavailable>
  }
>() {}
