import type { Preset } from "../../Description.ts"

/** Change notifications: each repeats the subscription's secret. They have no ID. */
export const microsoftGraph: Preset = {
  label: "Microsoft Graph",
  secret: "the `clientState` of the subscription, up to 128 characters",
  documentation: "https://learn.microsoft.com/graph/change-notifications-delivery-webhooks",
  descriptions: [{ scheme: "body", at: ["value", "*", "clientState"] }],
  urlChecks: [{ method: "POST", when: [{ at: { query: "validationToken" } }], echo: { query: "validationToken" } }]
}
