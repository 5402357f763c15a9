import type { Preset } from "../../Description.ts"

/** A list of events has an ID only if it is one event: the next attempt may group them in another way. */
export const eventGrid: Preset = {
  label: "Azure Event Grid",
  secret: "the value of the static header, marked as secret",
  documentation: "https://learn.microsoft.com/azure/event-grid/delivery-properties",
  required: ["header"],
  descriptions: [{ scheme: "header", headers: [], id: [{ json: ["id"] }, { json: ["*", "id"] }] }],
  urlChecks: [
    {
      method: "POST",
      when: [{ at: { header: "aeg-event-type" }, is: "SubscriptionValidation" }],
      echo: { json: ["*", "data", "validationCode"] },
      json: { validationResponse: "{echo}" }
    }
  ]
}
