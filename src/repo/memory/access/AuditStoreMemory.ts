import { DateTime, Effect, Option, Predicate } from "effect"
import { type AuditDraft, type AuditEvent, auditedFields, auditedLength } from "../../../domain/access/AuditEvent.ts"
import type { WebhookRow } from "../../../domain/webhook/Webhook.ts"
import { type AuditFilter, AuditStore, decodeAuditCursor } from "../../access/AuditStore.ts"

/** The audit events in memory. `write` is for the stores that make changes; without a draft it does nothing. */
export const makeAuditMemory = () => {
  /** Oldest first. */
  let events: ReadonlyArray<AuditEvent> = []
  const logged = new Set<string>()
  const add = (event: AuditEvent) => {
    events = [...events, event].sort((a, b) => (a.id < b.id ? -1 : 1))
  }
  const matching = ({ action, from, object, to }: AuditFilter) =>
    events.filter(
      (event) =>
        (object === undefined || event.object === object) &&
        (action === undefined || event.action === action) &&
        (from === undefined || DateTime.greaterThanOrEqualTo(event.at, from)) &&
        (to === undefined || DateTime.lessThan(event.at, to))
    )
  return {
    write: (draft: AuditDraft | undefined, change: Pick<AuditEvent, "object" | "before" | "after">): void => {
      if (draft !== undefined) add({ ...draft, ...change })
    },
    store: AuditStore.of({
      recordAudit: (event) => Effect.sync(() => add(event)),
      auditEvents: ({ limit, cursor, ...filter }) =>
        Effect.map(decodeAuditCursor(cursor), (last) => {
          const found = matching(filter)
            .toReversed()
            .filter(({ id }) => Option.isNone(last) || id < last.value)
          const data = found.slice(0, limit)
          return { data, next_cursor: found.length > limit ? data.at(-1)!.id : null }
        }),
      auditExport: ({ after, limit, ...filter }) =>
        Effect.sync(() =>
          matching(filter)
            .filter(({ id }) => after === undefined || id > after)
            .slice(0, limit)
        ),
      logAudit: (log) =>
        Effect.suspend(() => {
          const unlogged = events.filter(({ id }) => !logged.has(id))
          if (unlogged.length === 0) return Effect.succeed(0)
          return Effect.map(log(unlogged), () => {
            for (const { id } of unlogged) logged.add(id)
            return unlogged.length
          })
        }),
      purgeAudit: (before) =>
        Effect.sync(() => {
          const all = events.length
          events = events.filter(({ at }) => DateTime.greaterThanOrEqualTo(at, before))
          return all - events.length
        })
    })
  }
}

const cut = (value: unknown): unknown => {
  const text = Predicate.isReadonlyRecord(value) ? JSON.stringify(value) : value
  return typeof text === "string" && [...text].length > auditedLength
    ? `${[...text].slice(0, auditedLength).join("")}…`
    : value
}

const pick = (row: WebhookRow, isShown: (field: keyof WebhookRow) => boolean) => {
  const shown = auditedFields.filter(isShown)
  return shown.length === 0 ? undefined : Object.fromEntries(shown.map((field) => [field, cut(row[field] ?? null)]))
}

/** What an event shows of a webhook that was created, edited or deleted. */
export const webhookChange = (
  before: WebhookRow | undefined,
  after: WebhookRow | undefined
): Pick<AuditEvent, "before" | "after"> => {
  const isShown = (field: keyof WebhookRow) => {
    if (before === undefined || after === undefined) return (before ?? after)?.[field] !== undefined
    return before[field] !== after[field]
  }
  const [was, is] = [before && pick(before, isShown), after && pick(after, isShown)]
  return { ...(was && { before: was }), ...(is && { after: is }) }
}
