import { fromStrangers, json, type Recipe } from "../Recipe.ts"

export const meta: Recipe = {
  label: "Meta (WhatsApp, Messenger, Instagram)",
  name: "WhatsApp messages",
  summary: "Handles messages of WhatsApp, or other events of Meta's apps.",
  starts: ["WhatsApp messages"],
  verification: { preset: "meta", verify_token: "any-text-of-your-own" },
  secret: "known before",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.object == 'whatsapp_business_account' && payload.entry[].changes[].value.messages[]",
    run_title:
      "{% assign value = payload.entry[0].changes[0].value %}{{ value.contacts[0].profile.name | default: value.messages[0].from }}: {{ value.messages[0].text.body | default: value.messages[0].type }}"
  },
  prompt_template: `New messages in WhatsApp:

{% data %}
{% for entry in payload.entry %}{% for change in entry.changes %}{% for message in change.value.messages %}From: {{ change.value.contacts[0].profile.name | default: "unknown" }} (+{{ message.from }}), to {{ change.value.metadata.display_phone_number }}
Sent: {{ message.timestamp | date: "%Y-%m-%d %H:%M UTC" }}
{% if message.text %}
{{ message.text.body }}
{% else %}Type: {{ message.type }}
{% endif %}
{% endfor %}{% endfor %}{% endfor %}{% enddata %}

Draft an answer to each of them.`,
  steps: [
    "At developers.facebook.com, open your app. Its secret: “App settings”, “Basic”, “App secret”.",
    "“WhatsApp”, “Configuration”, “Webhook” (for other products “Webhooks”). “Callback URL”: the trigger URL. “Verify token”: the webhook's `verify_token`. “Verify and save”.",
    "Subscribe to the field “messages”."
  ],
  notes: [
    "Meta tests the URL with the verify token. It is not the secret, so it may be any text.",
    "Messenger and Instagram send payload.object == 'page' or 'instagram', with payload.entry[].messaging[].",
    "Meta retries for up to 36 hours. The same body starts no second run for 7 days."
  ],
  sample: {
    headers: { ...json, "user-agent": "facebookexternalua" },
    payload: {
      object: "whatsapp_business_account",
      entry: [
        {
          id: "102290129340398",
          changes: [
            {
              value: {
                messaging_product: "whatsapp",
                metadata: { display_phone_number: "15550783881", phone_number_id: "106540352242922" },
                contacts: [{ profile: { name: "Rosa Diaz" }, wa_id: "4915112345678" }],
                messages: [
                  {
                    from: "4915112345678",
                    id: "wamid.HBgLMTY1MDM4Nzk0MzkVAgASGBQzQTRBNjU5OUFFRTAzODEwMTQ0RgA=",
                    timestamp: "1777882512",
                    text: { body: "Where is my order 4711?" },
                    type: "text"
                  }
                ]
              },
              field: "messages"
            }
          ]
        }
      ]
    }
  },
  documentation: "https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/payload-examples"
}
