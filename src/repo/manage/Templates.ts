/** The templates of webhooks. */
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import { NotFound } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import {
  TemplateVersionSummary as Summary,
  type TemplateVersion,
  type TemplateVersionSummary,
  templatesKept
} from "../../domain/prompt/TemplateVersion.ts"
import { webhookSettings } from "../../domain/webhook/WebhookSettings.ts"
import { fromRow, list } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

const summaryColumns = list(Object.keys(Summary.fields).map((name) => `t.${name}`))

/** Defaults of the columns that a webhook does not set. */
const now = list(
  (["template_language", "input"] as const).map((name) => `coalesce(c.${name}, '${webhookSettings[name].default}')`)
)

/**
 * A part of a `with` query whose part `changed` writes one webhook: stores its template, unless it equals the newest
 * stored one, and drops the oldest.
 */
export const keepTemplate = (sql: SqlClient.SqlClient, audit: AuditDraft | undefined): Statement.Fragment => sql`
  template_kept as (
    insert into webhook_trigger.webhook_templates
      (webhook_id, version, prompt_template, template_language, input, at, actor, key_name, person_name,
       session_id, client_address)
    select c.id, c.version, c.prompt_template, ${now}, c.updated_at, ${audit?.actor ?? "unknown"}::text,
      ${audit?.key_name ?? null}::text, ${audit?.person_name ?? null}::text,
      ${audit?.session_id ?? null}::text, ${audit?.client_address ?? null}::text
    from changed c where (c.prompt_template, ${now}) is distinct from (
      select (t.prompt_template, t.template_language, t.input) from webhook_trigger.webhook_templates t
      where t.webhook_id = c.id order by t.version desc limit 1
    )
  ), template_dropped as (
    delete from webhook_trigger.webhook_templates old using changed c
    where old.webhook_id = c.id and old.version <= (
      select t.version from webhook_trigger.webhook_templates t
      where t.webhook_id = c.id order by t.version desc offset ${templatesKept} limit 1
    )
  )`

/** `WebhookStore.templates` and `template`. */
export const makeTemplates = (sql: SqlClient.SqlClient) => ({
  /** Its newest `templatesKept` templates, the current one first. */
  templates: Effect.fn("WebhookStore.templates")(function* (id: WebhookId) {
    const rows = yield* sql`
      select ${summaryColumns} from webhook_trigger.webhook_templates t
      where t.webhook_id = ${id} order by t.version desc limit ${templatesKept}`
    // Each webhook has at least one.
    return rows.length === 0 ? yield* new NotFound() : rows.map((row) => fromRow<TemplateVersionSummary>(row))
  }, bounded),

  /** Its template in that version, if stored. */
  template: Effect.fn("WebhookStore.template")(function* (id: WebhookId, version: number) {
    const [row] = yield* sql`
      select ${summaryColumns}, t.prompt_template from webhook_trigger.webhook_templates t
      join webhook_trigger.webhooks w on w.id = t.webhook_id
      where t.webhook_id = ${id} and t.version <= ${version} and w.version >= ${version}
      order by t.version desc limit 1`
    return row === undefined ? yield* new NotFound() : fromRow<TemplateVersion>(row)
  }, bounded)
})
