import { createHash } from "node:crypto"
import { DateTime, Effect, Option, Predicate, Schema } from "effect"
import { type ChainedEvent, noEvent } from "../../../domain/access/AuditChain.ts"
import { type AuditDraft, AuditEvent, auditedFields, auditedLength } from "../../../domain/access/AuditEvent.ts"
import type { WebhookRow } from "../../../domain/webhook/Webhook.ts"
import { type AuditFilter, AuditStore, decodeAuditCursor } from "../../access/AuditStore.ts"

const encode = Schema.encodeSync(AuditEvent)

/** The audit events in memory. `write` is for the stores that make changes; without a draft it does nothing. */
export const makeAuditMemory = () => {
  /** In the order of the chain. */
  let chain: ReadonlyArray<ChainedEvent & { readonly event: AuditEvent }> = []
  let start = noEvent
  let end = noEvent
  const add = (event: AuditEvent) => {
    const sequence = end.sequence + 1
    const content = JSON.stringify({ sequence, previous_hash: end.hash, ...encode(event) })
    end = { sequence, hash: createHash("sha256").update(content).digest("hex") }
    chain = [...chain, { ...end, content, event }]
  }
  const matching = ({ action, from, object, to }: AuditFilter) =>
    chain.filter(
      ({ event }) =>
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
            .map(({ event }) => event)
            .sort((a, b) => (a.id < b.id ? 1 : -1))
            .filter(({ id }) => Option.isNone(last) || id < last.value)
          const data = found.slice(0, limit)
          return { data, next_cursor: found.length > limit ? data.at(-1)!.id : null }
        }),
      auditChain: ({ after, limit, ...filter }) =>
        Effect.sync(() => ({
          start,
          end,
          events: matching(filter)
            .filter(({ sequence }) => sequence > after)
            .slice(0, limit)
            .map(({ content, hash, sequence }) => ({ sequence, content, hash }))
        })),
      purgeAudit: (before) =>
        Effect.sync(() => {
          const kept = chain.findIndex(({ event }) => DateTime.greaterThanOrEqualTo(event.at, before))
          const purged = kept < 0 ? chain : chain.slice(0, kept)
          chain = chain.slice(purged.length)
          const last = purged.at(-1)
          if (last !== undefined) start = { sequence: last.sequence, hash: last.hash }
          return purged.length
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
