import { fromStrangers, json, type Recipe } from "../Recipe.ts"

const start = 1_775_290_512
const end = 1_777_882_512

const invoice = {
  id: "in_1MtHbELkdIwHu7ixl4OzzPMv",
  object: "invoice",
  account_country: "DE",
  account_name: "Acme",
  account_tax_ids: null,
  amount_due: 4200,
  amount_overpaid: 0,
  amount_paid: 0,
  amount_remaining: 4200,
  amount_shipping: 0,
  application: null,
  attempt_count: 1,
  attempted: true,
  auto_advance: true,
  automatic_tax: { disabled_reason: null, enabled: false, liability: null, provider: null, status: null },
  automatically_finalizes_at: null,
  billing_reason: "subscription_cycle",
  collection_method: "charge_automatically",
  created: end,
  currency: "eur",
  custom_fields: null,
  customer: "cus_NeZwdNtLEOXuvB",
  customer_account: null,
  customer_address: null,
  customer_email: "jenny.rosen@example.com",
  customer_name: "Jenny Rosen",
  customer_phone: null,
  customer_shipping: null,
  customer_tax_exempt: "none",
  customer_tax_ids: [],
  default_payment_method: null,
  default_source: null,
  default_tax_rates: [],
  description: null,
  discounts: [],
  due_date: null,
  effective_at: end,
  ending_balance: 0,
  footer: null,
  from_invoice: null,
  hosted_invoice_url: "https://invoice.stripe.com/i/acct_1/test_1",
  invoice_pdf: "https://pay.stripe.com/invoice/acct_1/test_1/pdf",
  issuer: { type: "self" },
  last_finalization_error: null,
  latest_revision: null,
  lines: {
    object: "list",
    data: [
      {
        id: "il_1MtHbELkdIwHu7ixSmPlEsDm",
        object: "line_item",
        amount: 4200,
        currency: "eur",
        description: "1 × Shop (at €42.00 / month)",
        discount_amounts: [],
        discountable: true,
        discounts: [],
        invoice: "in_1MtHbELkdIwHu7ixl4OzzPMv",
        livemode: false,
        metadata: {},
        parent: {
          invoice_item_details: null,
          subscription_item_details: {
            invoice_item: null,
            proration: false,
            proration_details: null,
            subscription: "sub_1MtHbALkdIwHu7ixVtRoLxQx",
            subscription_item: "si_NeZwGVNsvWfbXx"
          },
          type: "subscription_item_details"
        },
        period: { end: end + (end - start), start: end },
        pretax_credit_amounts: [],
        pricing: {
          price_details: { price: "price_1MtHbALkdIwHu7ixTkSs4ZtA", product: "prod_NeZwzHFcJsrAVb" },
          type: "price_details",
          unit_amount_decimal: "4200"
        },
        quantity: 1,
        quantity_decimal: "1",
        subscription: "sub_1MtHbALkdIwHu7ixVtRoLxQx",
        subtotal: 4200,
        taxes: []
      }
    ],
    has_more: false,
    url: "/v1/invoices/in_1MtHbELkdIwHu7ixl4OzzPMv/lines"
  },
  livemode: false,
  metadata: {},
  next_payment_attempt: end + 259_200,
  number: "A1B2C3D4-0002",
  on_behalf_of: null,
  parent: {
    quote_details: null,
    subscription_details: { metadata: {}, subscription: "sub_1MtHbALkdIwHu7ixVtRoLxQx" },
    type: "subscription_details"
  },
  payment_settings: { default_mandate: null, payment_method_options: null, payment_method_types: null },
  period_end: end,
  period_start: start,
  post_payment_credit_notes_amount: 0,
  pre_payment_credit_notes_amount: 0,
  receipt_number: null,
  rendering: null,
  shipping_cost: null,
  shipping_details: null,
  starting_balance: 0,
  statement_descriptor: null,
  status: "open",
  status_transitions: { finalized_at: end, marked_uncollectible_at: null, paid_at: null, voided_at: null },
  subtotal: 4200,
  subtotal_excluding_tax: 4200,
  test_clock: null,
  total: 4200,
  total_discount_amounts: [],
  total_excluding_tax: 4200,
  total_pretax_credit_amounts: [],
  total_taxes: [],
  webhooks_delivered_at: null
}

export const stripe: Recipe = {
  label: "Stripe",
  name: "Failed payments",
  summary: "Follows up on failed invoice payments.",
  starts: ["Invoices: payment failed"],
  verification: { preset: "stripe" },
  secret: "shown after",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.type == 'invoice.payment_failed'",
    run_title:
      'Invoice {{ payload.data.object.number | default: payload.data.object.id }}: {{ payload.data.object.customer_name | default: payload.data.object.customer_email | default: "unknown customer" }}'
  },
  prompt_template: `The payment of an invoice failed in Stripe:

{% data %}
Invoice: {{ payload.data.object.number | default: "without a number" }} ({{ payload.data.object.id }})
{% if payload.data.object.hosted_invoice_url %}{{ payload.data.object.hosted_invoice_url }}
{% endif %}Customer: {{ payload.data.object.customer_name | default: "unknown" }}, {{ payload.data.object.customer_email | default: "no email address" }} ({{ payload.data.object.customer | default: "no ID" }})
Due: {{ payload.data.object.amount_due }} {{ payload.data.object.currency }}, in the currency's smallest unit
Billing reason: {{ payload.data.object.billing_reason | default: "unknown" }}
Failed attempts: {{ payload.data.object.attempt_count }}
Next attempt: {% if payload.data.object.next_payment_attempt %}{{ payload.data.object.next_payment_attempt | date: "%Y-%m-%d %H:%M UTC" }}{% else %}none{% endif %}
Event: {{ payload.id }}{% unless payload.livemode %}, in test mode{% endunless %}
{% enddata %}

Find out why the payment failed, and draft a message to the customer.`,
  steps: [
    "In the Dashboard: “Workbench”, “Webhooks”, “Create new destination”. Payload style, if asked: “Snapshot”.",
    "Event: invoice.payment_failed. “Continue”. Destination: a webhook. “Endpoint URL”: the trigger URL. “Create destination”.",
    "Set its “Signing secret” (`whsec_…`) as the webhook's secret here."
  ],
  notes: [
    "Test mode and live mode have separate endpoints and secrets, so create a webhook for each.",
    "Stripe retries for up to three days in live mode, and three times within hours in test mode. Events may come in any order."
  ],
  sample: {
    headers: { ...json, "user-agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)" },
    payload: {
      id: "evt_1NG8Du2eZvKYlo2CUI79vXWy",
      object: "event",
      api_version: "2025-09-30.clover",
      created: end,
      data: { object: invoice },
      livemode: false,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      type: "invoice.payment_failed"
    }
  },
  documentation: "https://docs.stripe.com/api/events/object"
}
