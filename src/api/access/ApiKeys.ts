import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ApiKey, ApiKeyDraft } from "../../domain/access/ApiKey.ts"
import { described, noContent } from "../Endpoint.ts"
import { listFields } from "../List.ts"
import { bodyFaults, NotFound } from "../Problem.ts"
import { Access } from "./Access.ts"
import { Admin } from "./Auth.ts"

/** A key with its secret, which is shown only once. */
const ApiKeyWithSecret = Schema.Struct({
  api_key: ApiKey,
  key: Schema.String.annotate({ description: "The secret key. It is shown only once." })
}).annotate({ identifier: "ApiKeyWithSecret", description: "A new API key, with the secret itself." })

const ApiKeyList = Schema.Struct(listFields(ApiKey, "Oldest first.")).annotate({
  identifier: "ApiKeyList",
  description: "All API keys, also revoked and expired ones."
})

export class ApiKeys extends HttpApiGroup.make("apiKeys")
  .add(
    HttpApiEndpoint.get("list", "/api/keys", { success: ApiKeyList }).annotateMerge(
      described("List the API keys", "Oldest first, also revoked and expired keys. Needs the role `admin`.")
    )
  )
  .add(
    HttpApiEndpoint.post("create", "/api/keys", {
      payload: ApiKeyDraft,
      success: ApiKeyWithSecret.pipe(HttpApiSchema.status(201)),
      error: bodyFaults
    }).annotateMerge(
      described(
        "Create an API key",
        "The response contains the secret key, which is shown only once. Needs the role `admin`."
      )
    )
  )
  .add(
    HttpApiEndpoint.delete("revoke", "/api/keys/:id", {
      params: Schema.Struct({ id: Schema.String.annotate({ description: "The API key's id." }) }),
      success: noContent("The key was revoked."),
      error: NotFound
    }).annotateMerge(
      described(
        "Revoke an API key",
        "From the next request on, no server accepts the key or a session that was started with it. Needs the role `admin`."
      )
    )
  )
  .add(
    HttpApiEndpoint.get("current", "/api/access", { success: Access }).annotateMerge(
      described("Show your own access", "The name, role and teams of the request's key or session.")
    )
  )
  .middleware(Admin)
  .annotateMerge(
    OpenApi.annotations({
      title: "API keys",
      description: "Named keys for people and programs, each with a role and, optionally, teams."
    })
  ) {}
