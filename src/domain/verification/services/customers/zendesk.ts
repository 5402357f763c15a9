import type { Preset } from "../../Description.ts"

export const zendesk: Preset = {
  label: "Zendesk",
  secret: "the webhook's “Signing secret”",
  documentation: "https://developer.zendesk.com/documentation/webhooks/verifying/",
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-zendesk-webhook-signature"],
      encoding: "base64",
      timestamp: { at: [{ header: "x-zendesk-webhook-signature-timestamp" }], unit: "iso", tolerance_seconds: 300 },
      signed: "{timestamp}{body}",
      id: [{ header: "x-zendesk-webhook-invocation-id" }]
    }
  ]
}
