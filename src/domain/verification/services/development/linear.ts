import type { Preset } from "../../Description.ts"

/** The time of sending is in the body, so it is signed. */
export const linear: Preset = {
  label: "Linear",
  secret: "the webhook's “Signing secret”",
  documentation: "https://linear.app/developers/webhooks",
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["linear-signature"],
      encoding: "hex",
      timestamp: { at: [{ json: ["webhookTimestamp"] }], unit: "milliseconds", tolerance_seconds: 60 },
      signed: "{body}",
      id: [{ header: "linear-delivery" }]
    }
  ]
}
