import type { Preset } from "../../Description.ts"

/** An outgoing webhook, whose answer appears in the channel. */
export const teams: Preset = {
  label: "Microsoft Teams",
  secret: "the outgoing webhook's security token",
  documentation:
    "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-outgoing-webhook",
  options: ["reply_text"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: { base64After: "" },
      headers: ["authorization"],
      prefix: "HMAC ",
      encoding: "base64",
      signed: "{body}",
      id: [{ json: ["id"] }],
      replies: [{ at: { json: ["type"] }, is: "message", body: { type: "message", text: "{reply_text}" } }]
    }
  ]
}
