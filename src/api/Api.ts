import { HttpApi, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Audit } from "./Audit.ts"
import { Overview } from "./Overview.ts"
import { InternalError, MethodNotAllowed } from "./Problem.ts"
import { Runs } from "./run/Runs.ts"
import { Trigger } from "./run/Trigger.ts"
import { Session } from "./Session.ts"
import { Sessions } from "./Sessions.ts"
import { Teams } from "./Teams.ts"
import { Webhooks } from "./webhook/Webhooks.ts"

/** Without Effect's own answer to a malformed request, which would be a second error format beside RFC 9457. */
const base: HttpApi.HttpApi<"webhook-trigger"> = Object.assign(HttpApi.make("webhook-trigger") as any, {
  errorSchema: Schema.Never
})

/**
 * Everything that the server offers: its handlers, OpenAPI, the typed client and the web UI's addresses follow from this.
 * `Session` and `Overview` are the web UI's own, and are left out of OpenAPI.
 */
export class Api extends base
  .add(Trigger)
  .add(Teams)
  .add(Webhooks)
  .add(Runs)
  .add(Sessions)
  .add(Audit)
  .add(Session)
  .add(Overview)
  .addError(MethodNotAllowed)
  .addError(InternalError)
  .annotateContext(
    OpenApi.annotations({
      title: "Webhook trigger",
      version: "1",
      description: "Put a team of AI agents to work with one HTTP POST.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" }
    })
  ) {}
