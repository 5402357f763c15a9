import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { LeaderKey, LeaderKeyDraft } from "../../domain/access/LeaderKey.ts"
import { described, noContent } from "../Endpoint.ts"
import { listFields } from "../List.ts"
import { bodyFaults, NotFound } from "../Problem.ts"
import { Admin } from "./Auth.ts"

/** A key with its secret, which is shown only once. */
const LeaderKeyWithSecret = Schema.Struct({
  leader_key: LeaderKey,
  key: Schema.String.annotate({ description: "The secret key. It is shown only once." })
}).annotate({ identifier: "LeaderKeyWithSecret", description: "A new leader key, with the secret itself." })

const team = Schema.String.annotate({ description: "The team's name." })

const LeaderKeyList = Schema.Struct(listFields(LeaderKey, "Oldest first.")).annotate({
  identifier: "LeaderKeyList",
  description: "A team's leader keys."
})

export class LeaderKeys extends HttpApiGroup.make("leaderKeys")
  .add(
    HttpApiEndpoint.get("list", "/api/teams/:team/leader-keys", {
      params: Schema.Struct({ team }),
      success: LeaderKeyList,
      error: NotFound
    }).annotateMerge(described("List a team's leader keys", "Oldest first."))
  )
  .add(
    HttpApiEndpoint.post("create", "/api/teams/:team/leader-keys", {
      params: Schema.Struct({ team }),
      payload: LeaderKeyDraft,
      success: LeaderKeyWithSecret.pipe(HttpApiSchema.status(201)),
      error: [...bodyFaults, NotFound]
    }).annotateMerge(
      described(
        "Create a leader key",
        "The response contains the secret key, which is shown only once. It gives access to the team's prompts, and to nothing else."
      )
    )
  )
  .add(
    HttpApiEndpoint.delete("revoke", "/api/teams/:team/leader-keys/:id", {
      params: Schema.Struct({ team, id: Schema.String.annotate({ description: "The leader key's id." }) }),
      success: noContent("The key was revoked."),
      error: NotFound
    }).annotateMerge(described("Revoke a leader key", "The key is deleted."))
  )
  .middleware(Admin)
  .annotateMerge(
    OpenApi.annotations({
      title: "Leader keys",
      description: "Keys for leaders over HTTP."
    })
  ) {}
