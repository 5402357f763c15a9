import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { Destination, DestinationEdit, DestinationRow } from "../../domain/delivery/Destination.ts"
import type { Invalid, NotFound, Unavailable } from "../../domain/Errors.ts"
import type { DestinationId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"

/** Fields to overwrite; `null` removes an optional one. */
export type DestinationChange = Omit<DestinationEdit, "headers" | "paused" | "token"> &
  Partial<Pick<DestinationRow, "authors" | "chain_teams" | "header_names" | "sealed_secret" | "secret_hint">> & {
    readonly [Field in
      | "paused"
      | "sealed_headers"
      | "old_sealed_secret"
      | "old_secret_valid_until"
      | "disabled_reason"]?: DestinationRow[Field] | null
  } & { readonly updated_at: DateTime.Utc }

/** What is encrypted. */
export type SealedFields = Pick<DestinationRow, "sealed_headers" | "sealed_secret" | "old_sealed_secret">

/** The webhook that a destination belongs to. `null`: it gets alerts. */
export type Owner = WebhookId | null

/** Who wrote a message: the IDs that its service uses for the author, each with the service's name before it. */
interface Author {
  readonly ids: ReadonlyArray<string>
  /** The app that wrote it is the one that reports it. */
  readonly isSameApp?: boolean
}

/** Why a destination may not be beside the others of its owner; `undefined`: it may. */
export type FaultBeside = (others: ReadonlyArray<Partial<Pick<Destination, "kind" | "target">>>) => Invalid | undefined

/** The destinations of webhooks' runs and of alerts, as people manage them. A change writes its audit event in the same commit. */
export class DestinationStore extends Context.Service<
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
    /**
     * Switched off, its pending deliveries fail. Switched on or resumed (`paused: false`), it is not paused, and no longer counts as
     * failing. `faultBeside`: as above.
     */
    readonly updateDestination: (
      owner: Owner,
      id: DestinationId,
      change: DestinationChange,
      options?: { readonly audit?: AuditDraft; readonly faultBeside?: FaultBeside }
    ) => Effect.Effect<Destination, Invalid | NotFound | Unavailable>
    /**
     * Whether a destination of the webhook's team writes as this author; or, by the app that reports the message, an enabled
     * Slack destination of the webhook. Other teams' destinations do not count: nobody can make this team ignore others.
     */
    readonly isAuthor: (
      webhook: { readonly id: WebhookId; readonly team: TeamName },
      author: Author
    ) => Effect.Effect<boolean, Unavailable>
    /** The IDs that the service uses for the destination, as its answers show them. */
    readonly rememberAuthors: (id: DestinationId, authors: ReadonlyArray<string>) => Effect.Effect<void, Unavailable>
    /** The ID of the comment that runs with this target share; `undefined`: none is known. */
    readonly comment: (id: DestinationId, target: string) => Effect.Effect<string | undefined, Unavailable>
    readonly rememberComment: (
      id: DestinationId,
      target: string,
      comment_id: string
    ) => Effect.Effect<void, Unavailable>
    /** Replaces what is encrypted, unless it has changed since `before` was read; returns whether it did. */
    readonly sealAgain: (before: DestinationRow, sealed: Partial<SealedFields>) => Effect.Effect<boolean, Unavailable>
    /** Deletes its deliveries, too. */
    readonly deleteDestination: (
      owner: Owner,
      id: DestinationId,
      audit?: AuditDraft
    ) => Effect.Effect<void, NotFound | Unavailable>
  }
>()("webhook-trigger/DestinationStore") {}
