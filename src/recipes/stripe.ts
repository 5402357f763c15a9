import { json, type Recipe, wholeRequest } from "./Recipe.ts"

export const stripe: Recipe = {
  label: "Stripe",
  name: "Failed payments",
  summary: "Follows up each payment of an invoice that fails.",
  verification: { preset: "stripe" },
  secret: "shown after",
  settings: { ...wholeRequest, accept_if: "payload.type == 'invoice.payment_failed'" },
  prompt_template: `Stripe reports {{payload.type}} (event {{payload.id}}, live: {{payload.livemode}}).

Invoice {{payload.data.object.id}} of customer {{payload.data.object.customer}}: {{payload.data.object.amount_due}} {{payload.data.object.currency}}, in the currency's smallest unit.
Attempt {{payload.data.object.attempt_count}}.
{{payload.data.object.hosted_invoice_url?}}

Find out why the payment failed, and draft a message to the customer.`,
  steps: [
    "In the Dashboard open “Workbench”, “Webhooks”, “Create new destination”. If it asks for a payload style, choose “Snapshot”.",
    "Choose the event invoice.payment_failed, “Continue”, and a webhook as the destination; “Endpoint URL” is the trigger URL. “Create destination”.",
    "Its “Signing secret” (`whsec_…`) is the secret: set it as the webhook's secret here."
  ],
  notes: [
    "Test mode and live mode have endpoints and secrets of their own: a webhook for each.",
    "In live mode Stripe sends an event again for up to three days, in test mode three times in a few hours, and in any order."
  ],
  sample: {
    headers: { ...json, "user-agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)" },
    payload: {
      id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
      object: "event",
      api_version: "2025-09-30.clover",
      created: 1777882512,
      data: {
        object: {
          id: "in_1MtHbELkdIwHu7ixl4OzzPMv",
          object: "invoice",
          amount_due: 4200,
          amount_paid: 0,
          amount_remaining: 4200,
          attempt_count: 1,
          attempted: true,
          billing_reason: "subscription_cycle",
          collection_method: "charge_automatically",
          currency: "eur",
          customer: "cus_NeZwdNtLEOXuvB",
          customer_email: "jenny.rosen@example.com",
          hosted_invoice_url: "https://invoice.stripe.com/i/acct_1/test_1",
          livemode: false,
          metadata: {},
          next_payment_attempt: 1778141712,
          number: "A1B2C3D4-0002",
          status: "open"
        }
      },
      livemode: false,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      type: "invoice.payment_failed"
    }
  },
  documentation: "https://docs.stripe.com/api/events/object"
}
