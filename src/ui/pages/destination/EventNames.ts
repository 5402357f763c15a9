import type { DestinationEvent } from "../../../domain/delivery/DestinationEvent.ts"

/** How the UI names each event. A missing one does not compile. */
export const eventNames: { readonly [E in DestinationEvent]: string } = {
  "run.started": "Started",
  "run.succeeded": "Succeeded",
  "run.failed": "Failed",
  "run.timed_out": "Timed out",
  "run.cancelled": "Cancelled",
  "alert.firing": "Alert",
  "alert.resolved": "Resolved"
}
