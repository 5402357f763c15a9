import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * What each kept template is written in, and what fills it in. Absent: a server of the release before has kept it. What is
 * there already gets what its webhook has now, as restoring it has meant so far. And what kept requests have beside their
 * bodies; servers of the release before list all of them as refused.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table webhook_trigger.webhook_templates add column template_language text, add column input text`
  yield* sql`
    update webhook_trigger.webhook_templates t
    set template_language = coalesce(w.template_language, 'simple'), input = coalesce(w.input, 'variables')
    from webhook_trigger.webhooks w where w.id = t.webhook_id`
  yield* sql`
    alter table webhook_trigger.requests add column headers json, add column query json, add column run_id uuid`
})
