import type { Preset } from "../Description.ts"

/** As Stripe signs. */
export const mux: Preset = {
  label: "Mux",
  secret: "the webhook's “Signing Secret”",
  // https://docs.mux.com/core/verify-webhook-signatures
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

export const twitch: Preset = {
  label: "Twitch",
  secret: "the secret of the EventSub subscription",
  // https://dev.twitch.tv/docs/eventsub/handling-webhook-events/
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["twitch-eventsub-message-signature"],
      prefix: "sha256=",
      encoding: "hex",
      timestamp: { at: [{ header: "twitch-eventsub-message-timestamp" }], unit: "iso", tolerance_seconds: 600 },
      signed: "{id}{timestamp}{body}",
      id: [{ header: "twitch-eventsub-message-id" }],
      handshakes: [
        {
          when: { at: { header: "twitch-eventsub-message-type" }, is: "webhook_callback_verification" },
          echo: { json: ["challenge"] }
        },
        { when: { at: { header: "twitch-eventsub-message-type" }, is: "revocation" } }
      ]
    }
  ]
}
