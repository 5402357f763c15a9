/** The bus's metrics, for `/metrics`. */
import { Metric } from "effect"
import { record } from "../../telemetry/Metrics.ts"

export const received = Metric.counter("webhook_bus_reports_total", {
  description:
    "Messages received about runs: started, progress, response, error, dead letters, and rejected or invalid messages.",
  incremental: true
})
const publishes = Metric.counter("webhook_bus_publishes_total", {
  description: "Messages sent to the broker, by outcome.",
  incremental: true
})
export const reconnects = Metric.counter("webhook_bus_reconnects_total", {
  description: "Broker connections that were lost or could not be opened.",
  incremental: true
})

export type ReplyKind =
  | "started"
  | "file"
  | "file_wanted"
  | "discarded"
  | "progress"
  | "response"
  | "error"
  | "dead"
  | "ended"
  | "refused"
  | "malformed"
  | "unknown"

export const countReceived = (kind: ReplyKind): void => record(received, 1, { kind })

export const countPublish = (outcome: "confirmed" | "returned" | "lost"): void => record(publishes, 1, { outcome })

/** Shows the connection's counter before the first loss. */
export const beginReconnects = (connection: string): void => record(reconnects, 0, { connection })

export const countReconnect = (connection: string): void => record(reconnects, 1, { connection })
