import { HttpApi, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Runs } from "./Runs.ts"
import { Teams } from "./Teams.ts"
import { Trigger } from "./Trigger.ts"
import { Webhooks } from "./Webhooks.ts"

/** Without Effect's own answer to a malformed request, another format beside RFC 9457. */
export const make = <const Id extends string>(id: Id): HttpApi.HttpApi<Id> =>
  Object.assign(HttpApi.make(id) as any, { errorSchema: Schema.Never })

/** Management of teams and webhooks, and the history: what the server's handlers implement. */
export class ManagementApi extends make("management").add(Teams).add(Webhooks).add(Runs) {}

/**
 * Everything a client can call. The trigger's handlers read the request themselves, for its exact order of checks and
 * its speed, so its group stands here as the contract: OpenAPI and the typed clients are derived from this.
 */
export class Api extends make("webhook-trigger")
  .add(Trigger)
  .add(Teams)
  .add(Webhooks)
  .add(Runs)
  .annotateContext(
    OpenApi.annotations({
      title: "Webhook trigger",
      version: "1",
      description: "Put a team of AI agents to work with one HTTP POST.",
      license: { name: "MIT" }
    })
  ) {}
