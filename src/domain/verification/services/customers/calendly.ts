import type { Preset } from "../../Description.ts"

/** As Stripe signs, but its events have no ID. */
export const calendly: Preset = {
  label: "Calendly",
  secret: "the webhook subscription's “Signing key”",
  documentation: "https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures",
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["calendly-webhook-signature"],
      separator: ",",
      prefix: "v1=",
      encoding: "hex",
      timestamp: { at: [{ signature: "t=" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "{timestamp}.{body}"
    }
  ]
}
