import type { Preset } from "../../Description.ts"

export const twitch: Preset = {
  label: "Twitch",
  secret: "the secret of the EventSub subscription",
  documentation: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/",
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
