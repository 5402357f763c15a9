import type { Preset } from "../../Description.ts"

/** As Stripe signs. */
export const mux: Preset = {
  label: "Mux",
  secret: "the webhook's “Signing Secret”",
  documentation: "https://docs.mux.com/core/verify-webhook-signatures",
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["mux-signature"],
      separator: ",",
      prefix: "v1=",
      encoding: "hex",
      timestamp: { at: [{ signature: "t=" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "{timestamp}.{body}",
      id: [{ json: ["id"] }]
    }
  ]
}
