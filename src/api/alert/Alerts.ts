/** Alerts, and the rules that begin them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Alert, AlertState } from "../../domain/alert/Alert.ts"
import { AlertRule, AlertRuleDraft, AlertRuleEdit } from "../../domain/alert/AlertRule.ts"
import { WebhookId } from "../../domain/Id.ts"
import { Admin } from "../access/Auth.ts"
import { described } from "../Endpoint.ts"
import { listFields } from "../List.ts"
import { Limit } from "../PageSize.ts"
import { BadRequest, ContentTooLarge, NotFound, UnprocessableContent, UnsupportedMediaType } from "../Problem.ts"

const AlertList = Schema.Struct(listFields(Alert, "Newest first.")).annotate({
  identifier: "AlertList",
  description: "Alerts, newest first."
})

const AlertRuleList = Schema.Struct(listFields(AlertRule, "Oldest first.")).annotate({
  identifier: "AlertRuleList",
  description: "The rules of alerts."
})

const rulePath = Schema.Struct({ rule_id: Schema.String.annotate({ description: "The rule's id." }) })

const rules = "/api/alerts/rules"

export class Alerts extends HttpApiGroup.make("alerts")
  .add(
    HttpApiEndpoint.get("list", "/api/alerts", {
      query: Schema.Struct({
        state: Schema.optional(
          AlertState.annotate({ identifier: undefined, description: "Only alerts in this state." })
        ),
        webhook_id: Schema.optional(WebhookId.annotate({ description: "Only about this webhook." })),
        limit: Schema.optional(Limit)
      }),
      success: AlertList,
      error: BadRequest
    }).annotateMerge(described("List the alerts", "Newest first. Resolved alerts are kept for 30 days."))
  )
  .add(
    HttpApiEndpoint.get("rules", rules, { success: AlertRuleList }).annotateMerge(
      described("List the alert rules", "When alerts begin, and who gets them.")
    )
  )
  .add(
    HttpApiEndpoint.post("createRule", rules, {
      payload: AlertRuleDraft,
      success: AlertRule.pipe(HttpApiSchema.status(201)),
      error: [BadRequest, ContentTooLarge, UnsupportedMediaType, UnprocessableContent]
    }).annotateMerge(
      described("Add an alert rule", "For one webhook, one team, or all. It is measured every 15 seconds.")
    )
  )
  .add(
    HttpApiEndpoint.patch("editRule", `${rules}/:rule_id`, {
      params: rulePath,
      payload: AlertRuleEdit,
      success: AlertRule,
      error: [BadRequest, NotFound, ContentTooLarge, UnsupportedMediaType, UnprocessableContent]
    }).annotateMerge(
      described(
        "Edit an alert rule",
        "Changes the given fields. Switching the rule off resolves its alerts without a message."
      )
    )
  )
  .add(
    HttpApiEndpoint.delete("deleteRule", `${rules}/:rule_id`, {
      params: rulePath,
      success: HttpApiSchema.NoContent.annotate({ description: "The rule was deleted." }),
      error: NotFound
    }).annotateMerge(described("Delete an alert rule", "Its alerts are deleted, too."))
  )
  .middleware(Admin)
  .annotateMerge(
    OpenApi.annotations({ title: "Alerts", description: "What is wrong now, and the rules that decide it." })
  ) {}
