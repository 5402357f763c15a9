import { HttpApi, OpenApi } from "effect/http-api"
import { ApiKeys } from "./access/ApiKeys.ts"
import { Audit } from "./access/Audit.ts"
import { LeaderKeys } from "./access/LeaderKeys.ts"
import { Session } from "./access/Session.ts"
import { Sessions } from "./access/Sessions.ts"
import { Alerts } from "./alert/Alerts.ts"
import { Config } from "./Configuration.ts"
import { AlertDestinations, Destinations } from "./delivery/Destinations.ts"
import { Leading } from "./Leading.ts"
import { Overview } from "./Overview.ts"
import { Runs } from "./run/Runs.ts"
import { Trigger } from "./run/Trigger.ts"
import { Teams } from "./Teams.ts"
import { Threads } from "./Threads.ts"
import { Webhooks } from "./webhook/Webhooks.ts"

/**
 * Without the triggers, whose routes are written by hand. `Session` and `Overview` are for the web UI only and not in
 * OpenAPI.
 */
export class Management extends HttpApi.make("webhook-trigger")
  .add(Teams)
  .add(LeaderKeys)
  .add(Threads)
  .add(Webhooks)
  .add(Destinations)
  .add(Alerts)
  .add(AlertDestinations)
  .add(Config)
  .add(Runs)
  .add(Leading)
  .add(ApiKeys)
  .add(Sessions)
  .add(Audit)
  .add(Session)
  .add(Overview) {}

/** The definition behind the handlers, OpenAPI, the typed client and the web UI's requests. */
export class Api extends HttpApi.make("webhook-trigger")
  .add(Trigger)
  .addHttpApi(Management)
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhook trigger",
      version: "1",
      description: "Put a team of AI agents to work with one HTTP POST.",
      license: { name: "MIT", url: "https://opensource.org/license/mit" }
    })
  ) {}
