/** Audit events as files, oldest first. */
import { Effect, Schema, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { AuditEvent } from "../../../domain/access/AuditEvent.ts"
import type { Unauthorized, Unavailable } from "../../../domain/Errors.ts"
import type { AuditEventId } from "../../../domain/Id.ts"
import { type AuditFilter, AuditStore } from "../../../repo/access/AuditStore.ts"
import { csvLine } from "./Csv.ts"
import * as FileStream from "./FileStream.ts"

export interface Format extends FileStream.File {
  readonly head: string
  readonly line: (event: AuditEvent) => string
}

const encode = Schema.encodeSync(AuditEvent)

export const jsonLines: Format = {
  contentType: "application/jsonl",
  file: "audit.jsonl",
  head: "",
  line: (event) => `${JSON.stringify(encode(event))}\n`
}

const columns = Object.keys(AuditEvent.fields) as ReadonlyArray<keyof AuditEvent>

export const csv: Format = {
  contentType: "text/csv; charset=utf-8",
  file: "audit.csv",
  head: csvLine(columns),
  line: (event) => {
    const fields = encode(event)
    const cells = columns.map((name) => {
      const value = fields[name]
      return typeof value === "object" ? JSON.stringify(value) : value
    })
    return csvLine(cells)
  }
}

/** Events that are read together. */
const pageSize = 500

/** The matching events in pages. Can fail until the first is read; a later failure ends the stream. */
const pages = (filter: AuditFilter) =>
  Effect.gen(function* () {
    const store = yield* AuditStore
    const read = (after?: AuditEventId) =>
      store.auditExport({ ...filter, limit: pageSize, ...(after !== undefined && { after }) })
    const first = yield* read()
    const rest = Stream.unfold(first, (page) =>
      page.length < pageSize ? Effect.undefined : Effect.map(read(page.at(-1)!.id), (next) => [next, next] as const)
    )
    return Stream.concat(Stream.succeed(first), rest)
  })

/** Events that are sent together. */
const together = 100

/** A client that reads nothing for this long is disconnected. */
const patience = "1 minute"

/** `stillSignedIn` is asked before each page is sent. */
export const respond = (
  request: HttpServerRequest.HttpServerRequest,
  filter: AuditFilter,
  format: Format,
  stillSignedIn: Effect.Effect<void, Unauthorized | Unavailable>
) =>
  Effect.map(pages(filter), (pages) => {
    const lines = pages.pipe(
      Stream.tap(() => stillSignedIn),
      Stream.flattenIterable,
      Stream.grouped(together),
      Stream.map((some) => [...some].map(format.line).join(""))
    )
    return FileStream.respond(request, format, Stream.concat(Stream.succeed(format.head), lines), patience)
  })
