import { Schema } from "effect"
import { ApiKeyId, WebhookId } from "../Id.ts"
import { trimmed } from "../SchemaParts.ts"
import { TeamName } from "../Team.ts"
import { optional, time } from "../Time.ts"
import type { TokenHash } from "../webhook/Token.ts"
import { roleNames, roles } from "./Roles.ts"

const maxName = 100

/** A request would carry them all into its queries. */
const mostTeams = 100
const mostWebhooks = 20

export const Role = Schema.Literals(roleNames).annotate({
  identifier: "Role",
  description: roleNames.map((role) => `\`${role}\`: ${roles[role].description}.`).join(" ")
})

const name = "Who or what uses the key, for people and in the audit log."
const teams = "The teams that the key is limited to."
const webhooks = "The webhooks whose runs the key may start, by ID."

/** A key for the management API and the web UI. */
export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String.annotate({ description: name }),
  role: Role,
  teams: optional(Schema.Array(TeamName).annotate({ description: `${teams} Absent: all teams.` })),
  webhooks: optional(
    Schema.Array(WebhookId).annotate({ description: `${webhooks} Absent: all webhooks of its teams.` })
  ),
  hint: Schema.String.annotate({ description: "The key's last characters. Only a hash of the key is stored." }),
  created_at: time("When the key was created."),
  created_by: Schema.String.annotate({ description: "Who created it, as in the audit log." }),
  expires_at: optional(time("When the key stops working. Absent: never.")),
  last_used_at: optional(time("When the key was last used, to one minute. Absent: never.")),
  revoked_at: optional(time("When the key was revoked. Absent: it was not."))
}).annotate({ identifier: "ApiKey", description: "A key for the management API and the web UI." })
export type ApiKey = typeof ApiKey.Type

export const ApiKeyDraft = Schema.Struct({
  name: trimmed(maxName, name),
  role: Role,
  teams: optional(
    Schema.Array(TeamName)
      .check(Schema.isMinLength(1), Schema.isMaxLength(mostTeams))
      .annotate({ description: `${teams} Absent: all teams. Not for the role \`auditor\`.` })
  ),
  webhooks: optional(
    Schema.Array(WebhookId)
      .check(Schema.isMinLength(1), Schema.isMaxLength(mostWebhooks))
      .annotate({
        description: `${webhooks} Absent: all webhooks of its teams. Only for the role \`caller\`.`
      })
  ),
  expires_at: optional(time("When the key stops working. Absent: never."))
})
export type ApiKeyDraft = typeof ApiKeyDraft.Type

/** A key as it is stored. */
export interface ApiKeyRow extends ApiKey {
  readonly key_hash: TokenHash
}
