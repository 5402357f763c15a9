import { Context } from "effect"
import type { SqlClient } from "effect/sql"

/**
 * The client for steps, if they have connections of their own: the plans of a step take half of a connection's memory, so few
 * should have them. Absent: that of all statements.
 */
export class StepClient extends Context.Reference("webhook-trigger/StepClient", {
  defaultValue: (): SqlClient.SqlClient | undefined => undefined
}) {}
