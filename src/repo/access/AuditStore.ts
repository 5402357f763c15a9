import { Context, type DateTime, Effect, Option, Schema } from "effect"
import type { AuditLink, ChainedEvent } from "../../domain/access/AuditChain.ts"
import type { AuditAction, AuditEvent } from "../../domain/access/AuditEvent.ts"
import { InvalidParameter, type Unavailable } from "../../domain/Errors.ts"
import { AuditEventId } from "../../domain/Id.ts"

export interface AuditFilter {
  /** The object of the change. */
  readonly object?: string
  readonly action?: AuditAction
  /** At or after this time. */
  readonly from?: DateTime.Utc
  /** Before this time. */
  readonly to?: DateTime.Utc
}

/** A page of events, newest first. */
export interface AuditQuery extends AuditFilter {
  readonly limit: number
  /** Opaque; from the previous page. */
  readonly cursor?: string
}

export interface AuditPage {
  readonly data: ReadonlyArray<AuditEvent>
  /** `null` on the last page. */
  readonly next_cursor: string | null
}

/** Events in the order of the chain. */
export interface ChainQuery extends AuditFilter {
  /** Only events after this place. */
  readonly after: number
  readonly limit: number
}

/** All of it is of one moment. */
export interface ChainPage {
  /** The last event that retention has removed. */
  readonly start: AuditLink
  /** The last event. */
  readonly end: AuditLink
  readonly events: ReadonlyArray<ChainedEvent>
  /** The ID of an event that has no place, so no server wrote it. */
  readonly unchained?: string
}

/** Audit events. A change of a team or a webhook writes its event through its own store, in the same commit. */
export class AuditStore extends Context.Tag("webhook-trigger/AuditStore")<
  AuditStore,
  {
    /** Writes an event whose change is not in these rows. */
    readonly recordAudit: (event: AuditEvent) => Effect.Effect<void, Unavailable>
    readonly auditEvents: (query: AuditQuery) => Effect.Effect<AuditPage, InvalidParameter | Unavailable>
    readonly auditChain: (query: ChainQuery) => Effect.Effect<ChainPage, Unavailable>
    /**
     * Removes a portion of the events from before that time, from the beginning of the chain on. Returns how many, 0 when
     * there are none.
     */
    readonly purgeAudit: (before: DateTime.Utc) => Effect.Effect<number, Unavailable>
  }
>() {}

const isEventId = Schema.is(AuditEventId)

/** A cursor is the ID of the previous page's last event. */
export const decodeAuditCursor = (
  cursor: string | undefined
): Effect.Effect<Option.Option<AuditEventId>, InvalidParameter> =>
  cursor === undefined
    ? Effect.succeedNone
    : isEventId(cursor)
      ? Effect.succeedSome(cursor)
      : Effect.fail(new InvalidParameter({ name: "cursor", detail: "is not a cursor from an earlier page" }))
