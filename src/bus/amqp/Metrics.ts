/** What the bus counts, for `/metrics`. */
import { Effect, Metric } from "effect"
import { labels } from "../../engine/Labels.ts"

export const reports = Metric.counter("webhook_bus_reports_total", {
  description: "Messages consumed about runs: started, response, error, dead letters, and what could not be read.",
  incremental: true
})
export const publishes = Metric.counter("webhook_bus_publishes_total", {
  description: "Messages sent to the broker, by what became of them.",
  incremental: true
})
export const reconnects = Metric.counter("webhook_bus_reconnects_total", {
  description: "Connections to the broker that were lost or could not be made, and are tried again.",
  incremental: true
})

export type ReportKind = "started" | "response" | "error" | "dead" | "malformed" | "unknown"

export const countReport = (kind: ReportKind): Effect.Effect<void> =>
  Effect.sync(() => reports.unsafeUpdate(1, labels({ kind })))

export const countPublish = (outcome: "confirmed" | "returned" | "lost"): Effect.Effect<void> =>
  Effect.sync(() => publishes.unsafeUpdate(1, labels({ outcome })))

export const countReconnect = (connection: string): Effect.Effect<void> =>
  Effect.sync(() => reconnects.unsafeUpdate(1, labels({ connection })))
