import { fromStrangers, type Recipe } from "../Recipe.ts"

const sid = "SM8a1f0c2b3d4e5f60718293a4b5c6d7e8"

export const twilio: Recipe = {
  label: "Twilio",
  name: "Text messages",
  summary: "Handles text messages (SMS, MMS, WhatsApp) to a Twilio number.",
  starts: ["Text messages: received"],
  verification: { preset: "twilio" },
  secret: "known before",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.SmsStatus == 'received'",
    run_title: '{{ payload.From }}: {{ payload.Body | default: "(no text)" }}'
  },
  prompt_template: `A text message:

{% data %}
From: {{ payload.From }}{% if payload.FromCountry %}, {% if payload.FromCity %}{{ payload.FromCity }}, {% endif %}{{ payload.FromCountry }}{% endif %}
To: {{ payload.To }}
{% if payload.MediaUrl0 %}Attachments: {{ payload.NumMedia }}, the first at {{ payload.MediaUrl0 }}
{% endif %}
{{ payload.Body | default: "(no text)" }}
{% enddata %}

Say what the sender wants, and draft a reply of at most 300 characters.`,
  steps: [
    "In the Twilio Console: “Account Info”, “Auth Token”. That is the secret.",
    "“Phone Numbers”, “Manage”, “Active numbers”: open the number. “Messaging Configuration”, “A message comes in”: “Webhook”, the trigger URL, “HTTP POST”. Save.",
    "If you use a messaging service: “Integration”, “Send a webhook”, “Request URL”."
  ],
  notes: [
    "The signature covers the URL. Behind a proxy, set `PUBLIC_URL`, or every message is refused.",
    "The sender gets no immediate reply. To send one, add `--verification-option reply_text='We will answer soon.'`. To send the answer, agents need a Twilio API key.",
    "To keep one conversation for each sender, add `--thread-key '{{ payload.From }}'`.",
    "Twilio does not retry. Set “Primary handler fails” to the same URL. A message that arrives twice starts no second run."
  ],
  sample: {
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "user-agent": "TwilioProxy/1.1",
      "i-twilio-idempotency-token": "2f3c1a0e-5b7d-4c1e-9a57-0f6a1e3c8b22"
    },
    payload: {
      ToCountry: "US",
      ToState: "CA",
      SmsMessageSid: sid,
      NumMedia: "0",
      ToCity: "SAN FRANCISCO",
      FromZip: "97201",
      SmsSid: sid,
      FromState: "OR",
      SmsStatus: "received",
      FromCity: "PORTLAND",
      Body: "Where is my order 4711? It was due on Friday.",
      FromCountry: "US",
      To: "+14155550100",
      ToZip: "94105",
      NumSegments: "1",
      MessageSid: sid,
      AccountSid: "AC0123456789abcdef0123456789abcdef",
      From: "+15035550142",
      ApiVersion: "2010-04-01"
    }
  },
  documentation: "https://www.twilio.com/docs/messaging/guides/webhook-request"
}
