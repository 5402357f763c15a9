import type { UrlCheck } from "./Description.ts"

/**
 * Senders of CloudEvents, such as Azure Event Grid, ask whether their events are wanted. Every webhook says yes.
 * https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md#4-abuse-protection
 */
export const cloudEvents: UrlCheck = {
  method: "OPTIONS",
  when: [{ at: { header: "webhook-request-origin" } }],
  echo: { header: "webhook-request-origin" },
  headers: { allow: "POST", "webhook-allowed-origin": "{echo}", "webhook-allowed-rate": "*" }
}
