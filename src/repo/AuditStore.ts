import { Context, type DateTime, Effect, Option, Schema } from "effect"
import type { AuditAction, AuditEvent } from "../domain/access/AuditEvent.ts"
import { InvalidParameter, type Unavailable } from "../domain/Errors.ts"
import { AuditEventId } from "../domain/Id.ts"

/** A page of events, newest first. */
export interface AuditQuery {
  /** What it was done to. */
  readonly object?: string
  readonly action?: AuditAction
  readonly limit: number
  /** Opaque; from the page before. */
  readonly cursor?: string
}

export interface AuditPage {
  readonly data: ReadonlyArray<AuditEvent>
  /** `null` on the last page. */
  readonly next_cursor: string | null
}

/**
 * Who did what. A change of a team or a webhook is written by its own store, with the change: one is never there without
 * the other.
 */
export class AuditStore extends Context.Tag("webhook-trigger/AuditStore")<
  AuditStore,
  {
    /** Writes what is not a change of these rows. */
    readonly recordAudit: (event: AuditEvent) => Effect.Effect<void, Unavailable>
    readonly auditEvents: (query: AuditQuery) => Effect.Effect<AuditPage, InvalidParameter | Unavailable>
    /** Removes events from before that time, a portion of them; returns how many, 0 when there are none. */
    readonly purgeAudit: (before: DateTime.Utc) => Effect.Effect<number, Unavailable>
  }
>() {}

const isEventId = Schema.is(AuditEventId)

/** The event after which a page begins: a cursor is the id of the page's last one. */
export const decodeAuditCursor = (
  cursor: string | undefined
): Effect.Effect<Option.Option<AuditEventId>, InvalidParameter> =>
  cursor === undefined
    ? Effect.succeedNone
    : isEventId(cursor)
      ? Effect.succeedSome(cursor)
      : Effect.fail(new InvalidParameter({ name: "cursor", detail: "is not a cursor from an earlier page" }))
