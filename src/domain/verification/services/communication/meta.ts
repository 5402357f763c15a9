import type { Preset } from "../../Description.ts"

/** WhatsApp, Messenger, Instagram and Facebook pages. A request has several events, without an ID. */
export const meta: Preset = {
  label: "Meta (WhatsApp, Messenger, Instagram)",
  secret: "the app's “App secret”",
  documentation: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
  required: ["verify_token"],
  options: ["unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-hub-signature-256"],
      prefix: "sha256=",
      encoding: "hex",
      signed: "{body}"
    }
  ],
  urlChecks: [
    {
      method: "GET",
      when: [{ at: { query: "hub.mode" }, is: "subscribe" }],
      expects: { at: { query: "hub.verify_token" }, option: "verify_token" },
      echo: { query: "hub.challenge" }
    }
  ]
}
