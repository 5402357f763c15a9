import type { Preset } from "../../Description.ts"

/**
 * It signs forms only by their fields, and JSON not at all, so JSON is refused. The answer to a message is text, which Twilio
 * sends back as a message if it is not empty.
 */
export const twilio: Preset = {
  label: "Twilio",
  secret: "the account's “Auth Token”",
  documentation: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
  options: ["reply_text"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha1",
      key: "text",
      headers: ["x-twilio-signature"],
      encoding: "base64",
      signed: "{url}{form}",
      id: [{ form: "MessageSid" }, { form: "CallSid" }],
      replies: [{ at: { form: "MessageSid" } }]
    }
  ]
}
