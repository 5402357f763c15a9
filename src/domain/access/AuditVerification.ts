import { Schema } from "effect"
import { optional } from "../Time.ts"
import { auditFaults } from "./AuditChain.ts"

/** A place in the chain of audit events. */
export const AuditLink = Schema.Struct({
  sequence: Schema.Number.annotations({ description: "The place of the event, beginning with 1." }),
  hash: Schema.String.annotations({ description: "The SHA-256 hash of its content, in hexadecimal digits." })
}).annotations({ identifier: "AuditLink", description: "The place of an audit event, and its hash." })

export const AuditBreak = Schema.Struct({
  fault: Schema.Literal(...auditFaults).annotations({
    description:
      "`changed`: its content does not have its hash. `missing`: it was removed. `inserted`: it was not written by a server. `not_linked`: it does not have the hash of the event before it, so one of the two was changed. `not_found`: the event that was asked for is not there."
  }),
  sequence: optional(Schema.Number.annotations({ description: "The place of the event." })),
  event_id: optional(Schema.String.annotations({ description: "Its ID, if it is there." }))
}).annotations({ identifier: "AuditBreak", description: "The first event that is not in order." })

export const AuditVerification = Schema.Struct({
  events: Schema.Number.annotations({
    description: "The number of events that are in order, up to the first that is not."
  }),
  last: optional(
    AuditLink.annotations({
      description: "The last of these events. If you keep it, you can ask later whether it is still there."
    })
  ),
  broken: optional(AuditBreak)
}).annotations({ identifier: "AuditVerification", description: "Whether the audit events are as they were written." })
export type AuditVerification = typeof AuditVerification.Type
