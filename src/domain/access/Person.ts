import { Schema } from "effect"
import { TeamName } from "../Team.ts"
import { optional } from "../Time.ts"
import { Role } from "./ApiKey.ts"

/** Somebody who signed in at the OpenID provider. */
export const Person = Schema.Struct({
  id: Schema.String.annotate({ description: "The provider's ID of the person (`sub`), which never changes." }),
  name: optional(Schema.String.annotate({ description: "The person's name, as the provider gave it." })),
  email: optional(Schema.String.annotate({ description: "The person's e-mail address, as the provider gave it." }))
}).annotate({ identifier: "Person", description: "Somebody who signed in at the OpenID provider." })
export type Person = typeof Person.Type

/** With what the person's groups allow. */
export const PersonWithGrant = Schema.Struct({
  ...Person.fields,
  role: Role,
  teams: optional(
    Schema.Array(TeamName).annotate({ description: "The teams that the person is limited to. Absent: all teams." })
  )
})
export type PersonWithGrant = typeof PersonWithGrant.Type
