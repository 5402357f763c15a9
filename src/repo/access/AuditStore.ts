import { Context, type DateTime, Effect, type Option, Schema } from "effect"
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

interface AuditPage {
  readonly data: ReadonlyArray<AuditEvent>
  /** `null` on the last page. */
  readonly next_cursor: string | null
}

/** A part of an export, oldest first. */
export interface AuditExportQuery extends AuditFilter {
  readonly limit: number
  /** Only events after this one. */
  readonly after?: AuditEventId
}

/**
 * Audit events. A change of a team or a webhook writes its event through its own store, in the same commit. IDs contain the time of
 * the action, so an event can appear after others with higher IDs. To get each event once, use `logAudit`.
 */
export class AuditStore extends Context.Service<
  AuditStore,
  {
    /** Writes an event whose change is not in these rows. */
    readonly recordAudit: (event: AuditEvent) => Effect.Effect<void, Unavailable>
    readonly auditEvents: (query: AuditQuery) => Effect.Effect<AuditPage, InvalidParameter | Unavailable>
    readonly auditExport: (query: AuditExportQuery) => Effect.Effect<ReadonlyArray<AuditEvent>, Unavailable>
    /**
     * Gives some committed events that were not logged yet to `log`, and marks them as logged if it succeeds. Of several servers,
     * each gets other events. Returns how many, 0 when there are none.
     */
    readonly logAudit: <E>(
      log: (events: ReadonlyArray<AuditEvent>) => Effect.Effect<void, E>
    ) => Effect.Effect<number, E | Unavailable>
    /** Removes a portion of the events from before that time. Returns how many, 0 when there are none. */
    readonly purgeAudit: (before: DateTime.Utc) => Effect.Effect<number, Unavailable>
  }
>()("webhook-trigger/AuditStore") {}

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
