import type { Preset } from "../../Description.ts"

/** The Events API sends JSON; commands and actions are forms, the latter with JSON in the field `payload`. */
export const slack: Preset = {
  label: "Slack",
  secret: "the app's “Signing Secret”",
  documentation: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
  options: ["reply_text"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-slack-signature"],
      prefix: "v0=",
      encoding: "hex",
      timestamp: { at: [{ header: "x-slack-request-timestamp" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "v0:{timestamp}:{body}",
      id: [{ json: ["event_id"] }, { form: "trigger_id" }, { form: "payload", json: ["trigger_id"] }],
      handshakes: [{ when: { at: { json: ["type"] }, is: "url_verification" }, echo: { json: ["challenge"] } }],
      replies: [
        { at: { form: "command" } },
        // A dialog stays open unless its answer is empty.
        { at: { form: "payload", json: ["type"] }, is: "view_submission", body: "" },
        { at: { form: "payload" } }
      ]
    }
  ]
}
