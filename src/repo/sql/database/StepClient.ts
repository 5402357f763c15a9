import type { SqlClient } from "@effect/sql"
import { Context } from "effect"

/**
 * The client for steps, if they have connections of their own: the plans of a step take half of a connection's memory, so few
 * should have them. Absent: that of all statements.
 */
export class StepClient extends Context.Reference<StepClient>()("webhook-trigger/StepClient", {
  defaultValue: (): SqlClient.SqlClient | undefined => undefined
}) {}
