import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AuditAction, AuditEvent } from "../domain/access/AuditEvent.ts"
import { Admin } from "./Auth.ts"
import { listFields } from "./List.ts"
import { Limit } from "./PageSize.ts"
import { BadRequest, ServiceUnavailable } from "./Problem.ts"

export const AuditPage = Schema.Struct(listFields(AuditEvent, "Newest first.")).annotations({
  identifier: "AuditPage",
  description: "A page of events."
})

const AuditFilter = Schema.Struct({
  object: Schema.optional(
    Schema.String.annotations({
      description: "Only events about this webhook or session (its id) or team (its name)."
    })
  ),
  action: Schema.optional(AuditAction.annotations({ description: "Only events of this kind." })),
  limit: Schema.optional(Limit),
  cursor: Schema.optional(Schema.String.annotations({ description: "`next_cursor` of the previous page." }))
})

export class Audit extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/api/audit")
      .setUrlParams(AuditFilter)
      .addSuccess(AuditPage)
      .addError(BadRequest)
      .annotateContext(
        OpenApi.annotations({
          summary: "Read the audit events",
          description:
            "Who changed what, and from where: management actions, web UI sessions and wrong keys. Newest first, in pages."
        })
      )
  )
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(OpenApi.annotations({ title: "Audit", description: "Who did what, and from where." })) {}
