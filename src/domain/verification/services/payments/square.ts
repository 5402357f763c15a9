import type { Preset } from "../../Description.ts"

/** It signs the “Notification URL” as it is set there. */
export const square: Preset = {
  label: "Square",
  secret: "the webhook subscription's “Signature Key”",
  documentation: "https://developer.squareup.com/docs/webhooks/step3validate",
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-square-hmacsha256-signature"],
      encoding: "base64",
      signed: "{url}{body}",
      id: [{ json: ["event_id"] }]
    }
  ]
}
