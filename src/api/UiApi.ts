import { make } from "./Api.ts"
import { Overview } from "./Overview.ts"
import { Runs } from "./Runs.ts"
import { Session } from "./Session.ts"
import { Teams } from "./Teams.ts"
import { Webhooks } from "./Webhooks.ts"

/** What the web UI adds to the management API; served beside it. */
export class SessionApi extends make("ui").add(Session).add(Overview) {}

/** Everything the web UI calls. */
export class UiApi extends make("ui-client").add(Session).add(Overview).add(Teams).add(Webhooks).add(Runs) {}
