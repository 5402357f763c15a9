import type { Preset } from "../Description.ts"

export const paddle: Preset = {
  label: "Paddle",
  secret: "the notification destination's “Secret key”",
  // https://developer.paddle.com/webhooks/signature-verification
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["paddle-signature"],
      separator: ";",
      prefix: "h1=",
      encoding: "hex",
      timestamp: { at: [{ signature: "ts=" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "{timestamp}:{body}",
      id: [{ json: ["event_id"] }]
    }
  ]
}

/** It signs the “Notification URL” as it is set there. */
export const square: Preset = {
  label: "Square",
  secret: "the webhook subscription's “Signature Key”",
  // https://developer.squareup.com/docs/webhooks/step3validate
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

/** The key is the whole secret, with its `whsec_`. */
export const stripe: Preset = {
  label: "Stripe",
  secret: "the endpoint's “Signing secret” (`whsec_…`)",
  // https://docs.stripe.com/webhooks/signature
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
