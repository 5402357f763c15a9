/** Reads the audit events in the order of their chain. */
import { createHash } from "node:crypto"
import { Effect, Option, Stream } from "effect"
import { type AuditBreak, type AuditLink, type ChainedEvent, chainCheck } from "../../domain/access/AuditChain.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import { type AuditFilter, AuditStore, type ChainPage } from "../../repo/access/AuditStore.ts"

/** Events that are read together. */
const pageSize = 500

const hashOf = (content: string): string => createHash("sha256").update(content).digest("hex")

/** The matching events in pages, oldest first. Can fail until the first is read; a later failure ends the stream. */
export const pages = (
  filter: AuditFilter
): Effect.Effect<Stream.Stream<ReadonlyArray<ChainedEvent>, Unavailable>, Unavailable, AuditStore> =>
  Effect.gen(function* () {
    const store = yield* AuditStore
    const read = (after: number) => store.auditChain({ ...filter, after, limit: pageSize })
    const next = ({ events }: ChainPage) => {
      const last = events.at(-1)
      return events.length < pageSize || last === undefined
        ? Effect.succeedNone
        : Effect.map(read(last.sequence), (page) => Option.some([page.events, page] as const))
    }
    const first = yield* read(0)
    return Stream.concat(Stream.succeed(first.events), Stream.unfoldEffect(first, next))
  })

/** Checks all events. `expected` must be one of them, unless retention has removed it. */
export const verify = (expected?: AuditLink) =>
  Effect.gen(function* () {
    const store = yield* AuditStore
    const check = chainCheck({ hashOf, expected })
    for (;;) {
      const page = yield* store.auditChain({ after: check.last()?.sequence ?? -1, limit: pageSize })
      check.startAt(page.start)
      for (const event of page.events) {
        const broken = check.next(event)
        if (broken !== undefined) return check.result(broken)
      }
      if (page.events.length < pageSize) return check.result(atEnd(page, check.last()!))
    }
  })

/** What is wrong when all events are in order, but more or fewer than were written. */
const atEnd = ({ end, unchained }: ChainPage, last: AuditLink): AuditBreak | undefined => {
  if (last.sequence < end.sequence) return { fault: "missing", sequence: last.sequence + 1 }
  if (last.sequence > end.sequence) return { fault: "inserted", sequence: end.sequence + 1 }
  if (last.hash !== end.hash) return { fault: "changed", sequence: last.sequence }
  return unchained === undefined ? undefined : { fault: "inserted", event_id: unchained }
}
