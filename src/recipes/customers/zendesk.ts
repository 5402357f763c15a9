import { fromStrangers, json, type Recipe } from "../Recipe.ts"

export const zendesk: Recipe = {
  label: "Zendesk",
  name: "New Zendesk tickets",
  summary: "Triages each new ticket.",
  starts: ["Tickets: created"],
  verification: { preset: "zendesk" },
  secret: "shown after",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.type == 'zen:event-type:ticket.created'",
    run_title: '#{{ payload.detail.id }}: {{ payload.detail.subject | default: "without a subject" }}'
  },
  prompt_template: `A new ticket in Zendesk:

{% data %}
#{{ payload.detail.id }}: {{ payload.detail.subject | default: "without a subject" }}
Type: {{ payload.detail.type | default: "none" }}
Priority: {{ payload.detail.priority | default: "none" }}
Status: {{ payload.detail.status | default: "none" }}
Requester: {{ payload.detail.requester_id | default: "unknown" }}
Organization: {{ payload.detail.organization_id | default: "none" }}
Group: {{ payload.detail.group_id | default: "none" }}
{% if payload.detail.tags.size > 0 %}Tags: {{ payload.detail.tags | join: ", " }}
{% endif %}Received: {{ payload.detail.created_at }}, by {{ payload.detail.via.channel | default: "unknown" }}

{{ payload.detail.description | default: "(no text)" }}
{% enddata %}

Say in a sentence what the customer needs, how urgent it is, and who should work on it. Then draft a first reply. Mark what you are not sure of.`,
  steps: [
    "In the Admin Center: “Apps and integrations”, “Webhooks”, “Create webhook”, “Zendesk events”, “Ticket created”. Next.",
    "“Endpoint URL”: the trigger URL. “Request format”: “JSON”. “Authentication”: “None”. “Create webhook”.",
    "Open the webhook, “Reveal secret”: that is the secret."
  ],
  notes: [
    "The request has the IDs of people, but not their names. Agents need a Zendesk API token to look them up and to reply.",
    "If a Zendesk trigger or automation calls the webhook, it sends the JSON that is set there. Use its fields in the template, and remove the filter.",
    "Repeats of a delivery start no second run."
  ],
  sample: {
    headers: {
      ...json,
      "user-agent": "Zendesk Webhook",
      "x-zendesk-account-id": "12514403",
      "x-zendesk-webhook-id": "01GTNRP9TWQKVKRDXJF1NQ8KFP",
      "x-zendesk-webhook-invocation-id": "01JH2W5ZD5QNV8Q2GX8F6Y3K9T"
    },
    payload: {
      account_id: 12514403,
      detail: {
        actor_id: "8447388090494",
        assignee_id: null,
        brand_id: "8447346621310",
        created_at: "2026-05-04T08:15:12Z",
        custom_status: "8447320465790",
        description: "I added the coupon WELCOME after SPRING, and now the total is higher than before. Order 4711.",
        external_id: null,
        form_id: "8646151517822",
        group_id: "8447320466430",
        id: "5158",
        is_public: true,
        organization_id: "8447346622462",
        priority: "HIGH",
        requester_id: "8447388090501",
        status: "NEW",
        subject: "The total is wrong with two coupons",
        submitter_id: "8447388090501",
        tags: ["checkout", "coupon"],
        type: "PROBLEM",
        updated_at: "2026-05-04T08:15:12Z",
        via: { channel: "email" }
      },
      event: {},
      id: "cbe4028c-7239-495d-b020-f22348516046",
      subject: "zen:ticket:5158",
      time: "2026-05-04T08:15:12.672717030Z",
      type: "zen:event-type:ticket.created",
      zendesk_event_version: "2022-11-06"
    }
  },
  documentation: "https://developer.zendesk.com/api-reference/webhooks/event-types/ticket-events/"
}
