import { Effect } from "effect"
import { alerts } from "./0001_alerts.ts"
import { audit } from "./0001_audit.ts"
import { counts } from "./0001_counts.ts"
import { deliveries } from "./0001_deliveries.ts"
import { dispatch } from "./0001_dispatch.ts"
import { leaders } from "./0001_leaders.ts"
import { progress } from "./0001_progress.ts"
import { runs } from "./0001_runs.ts"
import { server } from "./0001_server.ts"
import { singletons } from "./0001_singletons.ts"
import { step } from "./0001_step.ts"
import { threads } from "./0001_threads.ts"
import { webhooks } from "./0001_webhooks.ts"

/** All tables, in their own schema, so they can be in a host's database beside its tables. */
export default Effect.all(
  [webhooks, runs, dispatch, singletons, counts, threads, step, alerts, deliveries, progress, server, audit, leaders],
  {
    discard: true
  }
)
