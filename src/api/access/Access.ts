import { Schema } from "effect"
import { Role } from "../../domain/access/ApiKey.ts"
import { Person } from "../../domain/access/Person.ts"
import { WebhookId } from "../../domain/Id.ts"
import { TeamName } from "../../domain/Team.ts"
import { optional, time } from "../../domain/Time.ts"

/** The permissions of a request's key or session. */
export const Access = Schema.Struct({
  key_name: optional(
    Schema.String.annotate({ description: "The API key's name. Absent, without a `person`: it is the admin key." })
  ),
  person: optional(Person.annotate({ description: "Who signed in at the OpenID provider, in the web UI." })),
  role: Role,
  teams: optional(
    Schema.Array(TeamName).annotate({
      description: "The teams that the key or the person is limited to. Absent: all teams."
    })
  ),
  webhooks: optional(
    Schema.Array(WebhookId).annotate({
      description: "The webhooks whose runs the key may start, by ID. Absent: all webhooks of its teams."
    })
  ),
  expires_at: optional(time("When the key stops working. Absent: never."))
}).annotate({ identifier: "Access", description: "What a key or a session may do." })
export type Access = typeof Access.Type
