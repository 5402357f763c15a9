import type { Preset } from "../Description.ts"

/** Interactions. */
export const discord: Preset = {
  label: "Discord",
  secret: "the application's “Public Key”",
  // https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint
  descriptions: [
    {
      scheme: "ed25519",
      key: "hex",
      headers: ["x-signature-ed25519"],
      encoding: "hex",
      timestamp: { at: [{ header: "x-signature-timestamp" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "{timestamp}{body}",
      id: [{ json: ["id"] }],
      handshakes: [{ when: { at: { json: ["type"] }, is: "1" }, json: { type: 1 } }],
      // Commands, buttons and dialogs: the agents answer later.
      replies: [
        { at: { json: ["type"] }, is: "2", body: { type: 5 } },
        { at: { json: ["type"] }, is: "3", body: { type: 6 } },
        { at: { json: ["type"] }, is: "5", body: { type: 5 } }
      ]
    }
  ]
}

/** Lark and Feishu, without an “Encrypt Key”: every event repeats the token. */
export const lark: Preset = {
  label: "Lark",
  secret: "the “Verification Token” of the app",
  // https://open.larksuite.com/document/server-docs/event-subscription-guide/overview
  descriptions: [{ scheme: "body", at: ["header", "token"], id: [{ json: ["header", "event_id"] }] }],
  urlChecks: [
    {
      method: "POST",
      when: [{ at: { json: ["type"] }, is: "url_verification" }],
      echo: { json: ["challenge"] },
      json: { challenge: "{echo}" }
    }
  ]
}

/** WhatsApp, Messenger, Instagram and Facebook pages. A request has several events, without an ID. */
export const meta: Preset = {
  label: "Meta (WhatsApp, Messenger, Instagram)",
  secret: "the app's “App secret”",
  // https://developers.facebook.com/docs/graph-api/webhooks/getting-started
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

/** Change notifications: each repeats the subscription's secret. They have no ID. */
export const microsoftGraph: Preset = {
  label: "Microsoft Graph",
  secret: "the `clientState` of the subscription, up to 128 characters",
  // https://learn.microsoft.com/graph/change-notifications-delivery-webhooks
  descriptions: [{ scheme: "body", at: ["value", "*", "clientState"] }],
  urlChecks: [{ method: "POST", when: [{ at: { query: "validationToken" } }], echo: { query: "validationToken" } }]
}

/** The Events API sends JSON; commands and actions are forms, the latter with JSON in the field `payload`. */
export const slack: Preset = {
  label: "Slack",
  secret: "the app's “Signing Secret”",
  // https://docs.slack.dev/authentication/verifying-requests-from-slack
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

/** An outgoing webhook, whose answer appears in the channel. */
export const teams: Preset = {
  label: "Microsoft Teams",
  secret: "the outgoing webhook's security token",
  // https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-outgoing-webhook
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

/**
 * It signs forms only by their fields, and JSON not at all, so JSON is refused. The answer to a message is text, which Twilio
 * sends back as a message if it is not empty.
 */
export const twilio: Preset = {
  label: "Twilio",
  secret: "the account's “Auth Token”",
  // https://www.twilio.com/docs/usage/webhooks/webhooks-security
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

export const zoom: Preset = {
  label: "Zoom",
  secret: "the app's “Secret Token”",
  // https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events
  options: ["tolerance_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-zm-signature"],
      prefix: "v0=",
      encoding: "hex",
      timestamp: { at: [{ header: "x-zm-request-timestamp" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "v0:{timestamp}:{body}",
      id: [{ header: "x-zm-trackingid" }],
      handshakes: [
        {
          when: { at: { json: ["event"] }, is: "endpoint.url_validation" },
          echo: { json: ["payload", "plainToken"] },
          json: { plainToken: "{echo}", encryptedToken: "{hmac}" }
        }
      ]
    }
  ]
}
