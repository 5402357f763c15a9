import type { Preset } from "../../Description.ts"

/** A delivery that is redelivered by hand keeps its `X-GitHub-Delivery`. */
export const github: Preset = {
  label: "GitHub",
  secret: "the webhook's “Secret”",
  documentation: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
  options: ["unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-hub-signature-256"],
      prefix: "sha256=",
      encoding: "hex",
      signed: "{body}",
      id: [{ header: "x-github-delivery" }],
      handshakes: [{ when: { at: { header: "x-github-event" }, is: "ping" } }]
    }
  ]
}
