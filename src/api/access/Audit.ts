import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AuditAction, AuditEvent } from "../../domain/access/AuditEvent.ts"
import { time } from "../../domain/Time.ts"
import { described, streamedText } from "../Endpoint.ts"
import { auditExports } from "../ExportPaths.ts"
import { listFields } from "../List.ts"
import { Limit } from "../PageSize.ts"
import { BadRequest, TooManyRequests } from "../Problem.ts"
import { Admin } from "./Auth.ts"

const AuditPage = Schema.Struct(listFields(AuditEvent, "Newest first.")).annotate({
  identifier: "AuditPage",
  description: "A page of events."
})

/** The query parameters of an export. */
export const AuditFilterParameters = Schema.Struct({
  object: Schema.optional(
    Schema.String.annotate({
      description: "Only events about this webhook or session (its id) or team (its name)."
    })
  ),
  action: Schema.optional(AuditAction.annotate({ identifier: undefined, description: "Only events of this kind." })),
  from: Schema.optional(time("Only events at or after this time.")),
  to: Schema.optional(time("Only events before this time."))
})

const AuditList = Schema.Struct({
  ...AuditFilterParameters.fields,
  limit: Schema.optional(Limit),
  cursor: Schema.optional(Schema.String.annotate({ description: "`next_cursor` of the previous page." }))
})

export class Audit extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/api/audit", {
      query: AuditList,
      success: AuditPage,
      error: BadRequest
    }).annotateMerge(
      described(
        "Read the audit events",
        "Who changed what, and from where: management actions, web UI sessions and wrong keys. Newest first, in pages."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("exportCsv", auditExports.csv, {
      query: AuditFilterParameters,
      success: streamedText("text/csv; charset=utf-8", "The events as CSV (RFC 4180), with a header line."),
      error: [BadRequest, TooManyRequests]
    }).annotateMerge(
      described(
        "Export audit events as CSV",
        "Streams all events that match the filters, oldest first. A text that a spreadsheet could read as a formula gets a leading apostrophe. If the connection closes early, the export is incomplete."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("exportJsonLines", auditExports.jsonl, {
      query: AuditFilterParameters,
      success: streamedText("application/jsonl", "The events, one JSON object per line."),
      error: [BadRequest, TooManyRequests]
    }).annotateMerge(
      described(
        "Export audit events as JSON Lines",
        "Like the CSV export. Each event has the fields of `GET /api/audit`."
      )
    )
  )
  .middleware(Admin)
  .annotateMerge(OpenApi.annotations({ title: "Audit", description: "Who did what, and from where." })) {}
