import { Schema } from "effect"
import { AuditEventId } from "../Id.ts"
import { AnyObject } from "../SchemaParts.ts"
import { optional, time } from "../Time.ts"
import { Webhook, WebhookRow } from "../webhook/Webhook.ts"
import { auditActions } from "./AuditActions.ts"

export const AuditAction = Schema.Literals(auditActions).annotate({
  identifier: "AuditAction",
  description:
    "The action. `run.decision_refused`, to somebody who may not approve the run, `key.refused` and `sign_in.refused` are failed attempts."
})
export type AuditAction = typeof AuditAction.Type

export const AuditActor = Schema.Literals(["admin_key", "api_key", "session", "host", "automatic", "unknown"]).annotate(
  {
    description:
      "Who did it: a program with the admin key or an API key, a session of the web UI, the program that embeds this server (`host`), the server itself (`automatic`), or somebody without a valid key."
  }
)
export type AuditActor = typeof AuditActor.Type

const record = {
  id: AuditEventId,
  at: time("When it was done."),
  action: AuditAction,
  actor: AuditActor,
  key_id: optional(
    Schema.String.annotate({ description: "The ID of the API key: of the program's, or of the session's." })
  ),
  key_name: optional(
    Schema.String.annotate({ description: "That key's name then. Several keys can have the same name." })
  ),
  person_id: optional(
    Schema.String.annotate({ description: "The OpenID provider's ID of the person whose session it was." })
  ),
  person_name: optional(Schema.String.annotate({ description: "That person's name then." })),
  session_id: optional(Schema.String.annotate({ description: "The session of the web UI." })),
  client_address: optional(Schema.String.annotate({ description: "Where the request came from." }))
}

/** The known part of an event before its change. The driver adds what was changed. */
export const AuditDraft = Schema.Struct(record)
export type AuditDraft = typeof AuditDraft.Type

export const AuditEvent = Schema.Struct({
  ...record,
  object: optional(
    Schema.String.annotate({
      description:
        "What it was done to: the id of a webhook, run, thread, session, API key or alert rule, or a team's name."
    })
  ),
  before: optional(
    AnyObject.annotate({ description: "What was there: the fields that were changed, or all of what was deleted." })
  ),
  after: optional(
    AnyObject.annotate({ description: "What is there now: the fields that were changed, or all of what was created." })
  ),
  attempts: optional(
    Schema.Finite.annotate({ description: "Number of attempts, for `key.refused` and `sign_in.refused`." })
  )
}).annotate({
  identifier: "AuditEvent",
  description: "Something that was done with a key or in the web UI."
})
export type AuditEvent = typeof AuditEvent.Type

/** The fields of a webhook that an event shows: those that people set, without secrets. */
export const auditedFields = (Object.keys(WebhookRow.fields) as ReadonlyArray<keyof WebhookRow>).filter(
  (field) =>
    !["id", "variables", "version", "created_at", "updated_at"].includes(field) &&
    !["old_token_used_at", "old_token_used_from", "verified_at"].includes(field) &&
    // Fields that the API never shows are secret.
    Object.hasOwn(Webhook.fields, field)
)

/** Longer texts are cut in events, in characters. */
export const auditedLength = 1_000
