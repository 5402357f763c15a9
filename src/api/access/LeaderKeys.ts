import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { LeaderKey, LeaderKeyDraft } from "../../domain/access/LeaderKey.ts"
import { described, noContent } from "../Endpoint.ts"
import { listFields } from "../List.ts"
import { BodyFault, NotFound, ServiceUnavailable } from "../Problem.ts"
import { Admin } from "./Auth.ts"

/** A key with its secret, which is shown only once. */
export const LeaderKeyWithSecret = Schema.Struct({
  leader_key: LeaderKey,
  key: Schema.String.annotate({ description: "The secret key. It is shown only once." })
}).annotate({ identifier: "LeaderKeyWithSecret", description: "A new leader key, with the secret itself." })
export type LeaderKeyWithSecret = typeof LeaderKeyWithSecret.Type

const team = Schema.String.annotate({ description: "The team's name." })

export const LeaderKeyList = Schema.Struct(listFields(LeaderKey, "Oldest first.")).annotate({
  identifier: "LeaderKeyList",
  description: "A team's leader keys."
})

export class LeaderKeys extends HttpApiGroup.make("leaderKeys")
  .add(
    HttpApiEndpoint.get("list", "/api/teams/:team/leader-keys")
      .setPath(Schema.Struct({ team }))
      .addSuccess(LeaderKeyList)
      .addError(NotFound)
      .annotateContext(described("List a team's leader keys", "Oldest first."))
  )
  .add(
    HttpApiEndpoint.post("create", "/api/teams/:team/leader-keys")
      .setPath(Schema.Struct({ team }))
      .setPayload(LeaderKeyDraft)
      .addSuccess(LeaderKeyWithSecret, { status: 201 })
      .addError(BodyFault)
      .addError(NotFound)
      .annotateContext(
        described(
          "Create a leader key",
          "The response contains the secret key, which is shown only once. It gives access to the team's prompts, and to nothing else."
        )
      )
  )
  .add(
    HttpApiEndpoint.delete("revoke", "/api/teams/:team/leader-keys/:id")
      .setPath(Schema.Struct({ team, id: Schema.String.annotate({ description: "The leader key's id." }) }))
      .addSuccess(noContent("The key was revoked."))
      .addError(NotFound)
      .annotateContext(described("Revoke a leader key", "The key is deleted."))
  )
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(
    OpenApi.annotations({
      title: "Leader keys",
      description: "Keys for leaders over HTTP."
    })
  ) {}
