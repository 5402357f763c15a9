import { fromStrangers, json, type Recipe } from "../Recipe.ts"

export const square: Recipe = {
  label: "Square",
  name: "Square disputes",
  summary: "Prepares an answer to each new dispute.",
  starts: ["Disputes: opened"],
  verification: { preset: "square" },
  secret: "shown after",
  settings: {
    ...fromStrangers,
    accept_if: "payload.type == 'dispute.created'",
    run_title: "Dispute {{payload.data.id}}: {{payload.data.object.dispute.reason}}"
  },
  prompt_template: `A customer disputes a payment in Square:

{{#data}}
Dispute: {{payload.data.id}}, {{payload.data.object.dispute.state?}}
Reason: {{payload.data.object.dispute.reason?}}
Amount: {{payload.data.object.dispute.amount_money.amount}} {{payload.data.object.dispute.amount_money.currency}}, in the smallest unit of the currency
Card: {{payload.data.object.dispute.card_brand?}}
Payment: {{payload.data.object.dispute.disputed_payment.payment_id?}}
Location: {{payload.data.object.dispute.location_id?}}
Answer due: {{payload.data.object.dispute.due_at?}}
{{/data}}

Find the order and what was delivered. Say whether to accept or to challenge the dispute, with reasons and the time that is left. List the evidence to send, and what is missing. Do not accept or challenge it yourself.`,
  steps: [
    "At developer.squareup.com, open your application. “Webhooks”, “Subscriptions”, “Add subscription”.",
    "“URL”: the trigger URL. “Events”: “dispute.created”. Save.",
    "Open the subscription. “Signature key”, “Show”: that is the secret."
  ],
  notes: [
    "The signature covers the URL. Behind a proxy, set `PUBLIC_URL`, or every request is refused.",
    "Sandbox and production are separate: each has its own subscription and key. “Send test event” is in the subscription's menu.",
    "Agents need a Square access token to read the payment, and the permission `DISPUTES_READ` to read the dispute.",
    "Square retries for 24 hours with the same event ID, so a retry starts no second run."
  ],
  sample: {
    headers: {
      ...json,
      "user-agent": "Square Connect v2",
      "square-environment": "Production",
      "square-initial-delivery-timestamp": "2026-05-04T08:15:13Z"
    },
    payload: {
      merchant_id: "0HPGX5JYE6EE1",
      location_id: "VJDQQP3CG14EY",
      type: "dispute.created",
      event_id: "6f606f30-53d0-495a-87f0-958576fc954f",
      created_at: "2026-05-04T08:15:12.851Z",
      data: {
        type: "dispute",
        id: "ORSEVtZAJxb37RA1EiGw",
        object: {
          dispute: {
            id: "ORSEVtZAJxb37RA1EiGw",
            amount_money: { amount: 8801, currency: "USD" },
            brand_dispute_id: "r9rKGSBBQbywBNnWWIiGFg",
            card_brand: "VISA",
            created_at: "2026-05-04T08:14:53.258Z",
            disputed_payment: { payment_id: "fbmsaEOpoARDKxiSGH1fqPuqoqFZY" },
            due_at: "2026-05-18T00:00:00.000Z",
            location_id: "VJDQQP3CG14EY",
            reason: "NOT_AS_DESCRIBED",
            reported_at: "2026-05-04T00:00:00.000Z",
            state: "EVIDENCE_REQUIRED",
            updated_at: "2026-05-04T08:14:53.258Z",
            version: 1
          }
        }
      }
    }
  },
  documentation: "https://developer.squareup.com/reference/square/webhooks/dispute.created"
}
