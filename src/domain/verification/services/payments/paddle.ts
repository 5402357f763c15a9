import type { Preset } from "../../Description.ts"

export const paddle: Preset = {
  label: "Paddle",
  secret: "the notification destination's “Secret key”",
  documentation: "https://developer.paddle.com/webhooks/signature-verification",
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
