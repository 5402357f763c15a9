/** Audit events as files, oldest first. */
import type { HttpServerRequest } from "@effect/platform"
import { Effect, Stream } from "effect"
import { type ChainedEvent, lineOf } from "../../../domain/access/AuditChain.ts"
import { AuditEvent } from "../../../domain/access/AuditEvent.ts"
import type { Unauthorized, Unavailable } from "../../../domain/Errors.ts"
import * as AuditLog from "../../../engine/access/AuditLog.ts"
import type { AuditFilter } from "../../../repo/access/AuditStore.ts"
import { csvLine } from "./Csv.ts"
import * as FileStream from "./FileStream.ts"

export interface Format extends FileStream.File {
  readonly head: string
  readonly line: (event: ChainedEvent) => string
}

export const jsonLines: Format = {
  contentType: "application/jsonl",
  file: "audit.jsonl",
  head: "",
  line: (event) => `${lineOf(event)}\n`
}

const columns = ["sequence", ...Object.keys(AuditEvent.fields), "previous_hash", "hash"]

export const csv: Format = {
  contentType: "text/csv; charset=utf-8",
  file: "audit.csv",
  head: csvLine(columns),
  line: (event) => {
    const fields = JSON.parse(lineOf(event))
    const cells = columns.map((name) =>
      typeof fields[name] === "object" ? JSON.stringify(fields[name]) : fields[name]
    )
    return csvLine(cells)
  }
}

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
  Effect.map(AuditLog.pages(filter), (pages) => {
    const lines = pages.pipe(
      Stream.tap(() => stillSignedIn),
      Stream.flattenIterables,
      Stream.grouped(together),
      Stream.map((some) => [...some].map(format.line).join(""))
    )
    return FileStream.respond(request, format, Stream.concat(Stream.succeed(format.head), lines), patience)
  })
