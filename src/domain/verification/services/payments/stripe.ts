import type { Preset } from "../../Description.ts"

/** The key is the whole secret, with its `whsec_`. */
export const stripe: Preset = {
  label: "Stripe",
  secret: "the endpoint's “Signing secret” (`whsec_…`)",
  documentation: "https://docs.stripe.com/webhooks/signature",
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["stripe-signature"],
      separator: ",",
      prefix: "v1=",
      encoding: "hex",
      timestamp: { at: [{ signature: "t=" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "{timestamp}.{body}",
      id: [{ json: ["id"] }]
    }
  ]
}
