import type { Preset } from "../../Description.ts"

/** While a secret is being replaced, PagerDuty signs with both. */
export const pagerduty: Preset = {
  label: "PagerDuty",
  secret: "the secret that PagerDuty shows once when the webhook subscription is created",
  documentation: "https://developer.pagerduty.com/docs/webhooks/webhook-signatures/",
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-pagerduty-signature"],
      separator: ",",
      prefix: "v1=",
      encoding: "hex",
      signed: "{body}",
      id: [{ json: ["event", "id"] }]
    }
  ]
}
