import { HttpApi } from "@effect/platform"
import { Runs } from "./Runs.ts"
import { Teams } from "./Teams.ts"
import { Trigger } from "./Trigger.ts"
import { Webhooks } from "./Webhooks.ts"

/** Management of teams and webhooks, and the history: what the server's handlers implement. */
export class ManagementApi extends HttpApi.make("management").add(Teams).add(Webhooks).add(Runs) {}

/**
 * Everything a client can call. The trigger's handlers read the request themselves, for its exact order of checks and
 * its speed, so its group stands here as the contract: OpenAPI and the typed clients are derived from this.
 */
export class Api extends HttpApi.make("webhook-trigger").add(Trigger).add(Teams).add(Webhooks).add(Runs) {}
