/** Configuration as code: what a server should have, as one document. */
import { Schema, Struct } from "effect"
import { AlertRuleDraft } from "./alert/AlertRule.ts"
import { DestinationDraft, maxDestinations } from "./delivery/Destination.ts"
import { Uuid } from "./Id.ts"
import { TeamDraft } from "./Team.ts"
import { optional } from "./Time.ts"
import { WebhookDraft } from "./webhook/Webhook.ts"

const id = optional(Uuid.annotate({ description: "Needed only if the server has several with the same name." }))

/** The fields of each kind without those that hold secrets. */
export const plainFields = {
  team: TeamDraft.fields,
  webhook: { id, ...Struct.omit(WebhookDraft.fields, ["secret"]) },
  destination: { id, ...Struct.omit(DestinationDraft.fields, ["token", "headers"]) },
  rule: {
    ...Struct.omit(AlertRuleDraft.fields, ["webhook_id", "destination_ids"]),
    webhook: optional(
      Schema.NonEmptyString.annotate({
        description: "Limits the rule to this webhook, by name, or by ID if the name is not unique."
      })
    ),
    destinations: optional(
      Schema.Array(Schema.NonEmptyString).pipe(
        Schema.check(Schema.isMaxLength(maxDestinations)),
        Schema.annotate({
          description:
            "The alert destinations of its alerts, by description, or by ID if it is absent or not unique. Absent: all."
        })
      )
    )
  }
}

const secret = (what: string) =>
  optional(
    Schema.NullOr(Schema.String).annotate({
      description: `${what}; absent: the server keeps its own. \`null\`, for a dry run: there is one that the client does not know.`
    })
  )

export const ConfigTeam = Schema.Struct(plainFields.team)

export const ConfigDestination = Schema.Struct({
  ...plainFields.destination,
  url: secret("Where it sends; for some kinds a secret"),
  token: secret("Its token"),
  headers: optional(
    Schema.Record(Schema.String, Schema.NullOr(Schema.String)).annotate({
      description: "Headers to send; absent: the server keeps its own. `null`: as of a secret."
    })
  )
}).annotate({ identifier: "ConfigDestination", description: "A destination that there should be." })
export type ConfigDestination = typeof ConfigDestination.Type

export const ConfigWebhook = Schema.Struct({
  ...plainFields.webhook,
  secret: secret("The secret of its verification"),
  destinations: optional(
    Schema.Array(ConfigDestination).annotate({ description: "Where the ends of its runs are sent." })
  )
}).annotate({ identifier: "ConfigWebhook", description: "A webhook that there should be." })
export type ConfigWebhook = typeof ConfigWebhook.Type

export const ConfigRule = Schema.Struct(plainFields.rule).annotate({
  identifier: "ConfigRule",
  description: "An alert rule that there should be."
})
export type ConfigRule = typeof ConfigRule.Type

export const Configuration = Schema.Struct({
  teams: optional(Schema.Array(ConfigTeam).annotate({ description: "The teams." })),
  webhooks: optional(Schema.Array(ConfigWebhook).annotate({ description: "The webhooks." })),
  alert_destinations: optional(Schema.Array(ConfigDestination).annotate({ description: "Where alerts are sent." })),
  alert_rules: optional(Schema.Array(ConfigRule).annotate({ description: "When alerts begin." }))
}).annotate({
  identifier: "Configuration",
  description: "What a server should have. Of a list that is absent, nothing is compared or changed."
})
export type Configuration = typeof Configuration.Type

const Change = Schema.Struct({
  field: Schema.String.annotate({ description: "Its name." }),
  from: optional(Schema.Any.annotate({ description: "Absent: not set." })),
  to: optional(Schema.Any.annotate({ description: "Absent: not set." }))
}).annotate({
  identifier: "ConfigChange",
  description: "The old and the new value of a field. Of secrets, the last characters."
})
export type Change = typeof Change.Type

export const Step = Schema.Struct({
  kind: Schema.Literals(["team", "webhook", "destination", "alert_destination", "alert_rule"]).annotate({
    description: "The kind of object."
  }),
  name: Schema.String.annotate({ description: "What people call it." }),
  webhook: optional(Schema.String.annotate({ description: "Of a destination: its webhook's name." })),
  action: Schema.Literals(["create", "change", "delete", "unchanged"]).annotate({
    description: "What is done with it."
  }),
  changes: Schema.Array(Change).annotate({ description: "The fields that change." }),
  notes: Schema.Array(Schema.String).annotate({ description: "What to know about it, for people." }),
  pointer: optional(
    Schema.String.annotate({ description: "Where the document has it, as a JSON Pointer. Absent: nowhere." })
  )
}).annotate({ identifier: "ConfigStep", description: "One object, and what happens to it." })
export type Step = typeof Step.Type

export const summaryOf = (steps: ReadonlyArray<Step>) => {
  const count = (of: Step["action"]) => steps.filter(({ action }) => action === of).length
  return { create: count("create"), change: count("change"), delete: count("delete"), unchanged: count("unchanged") }
}
