import { fromStrangers, json, type Recipe } from "../Recipe.ts"

export const paddle: Recipe = {
  label: "Paddle",
  name: "Failed Paddle payments",
  summary: "Follows up on failed payments.",
  starts: ["Payments: failed"],
  verification: { preset: "paddle" },
  secret: "shown after",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.event_type == 'transaction.payment_failed'",
    run_title: '{{ payload.data.id }}: {{ payload.data.payments[0].error_code | default: "failed" }}'
  },
  prompt_template: `A payment failed in Paddle:

{% data %}
Transaction: {{ payload.data.id }}, {{ payload.data.origin }}, {{ payload.data.status }}
Customer: {{ payload.data.customer_id | default: "unknown" }}
Subscription: {{ payload.data.subscription_id | default: "none" }}
Total: {{ payload.data.details.totals.grand_total }} {{ payload.data.currency_code }}, in the smallest unit of the currency
{% for item in payload.data.items %}Item: {{ item.quantity }} × {{ item.price.name | default: item.price.description }}
{% endfor %}{% for payment in payload.data.payments %}Attempt at {{ payment.created_at }}: {{ payment.status }}, {{ payment.error_code | default: "no error code" }}, {{ payment.method_details.type }}{% if payment.method_details.card %} {{ payment.method_details.card.type }} {{ payment.method_details.card.last4 }}{% endif %}
{% endfor %}Time: {{ payload.occurred_at }}
{% enddata %}

Say why the payment failed, and whether Paddle will try again. Propose what to do, and draft a message to the customer if one is needed.`,
  steps: [
    "In Paddle: “Developer tools”, “Notifications”, “New destination”. “Notification type”: “URL”.",
    "“URL”: the trigger URL. “Usage type”: “Platform”. Events: only “transaction.payment_failed”. “Save destination”.",
    "“Edit destination”, “Secret key”: that is the secret."
  ],
  notes: [
    "Attempts are listed newest first.",
    "The request does not contain the customer's name or address. Agents need a Paddle API key to look them up.",
    "The sandbox is a separate account with its own destinations. “Simulations” sends examples to destinations whose usage type includes them.",
    "Paddle retries for three days with the same event ID, so a retry starts no second run."
  ],
  sample: {
    headers: { ...json, "user-agent": "Paddle" },
    payload: {
      event_id: "evt_01hv8wx4vr9w6zsv6xss0b8az9",
      event_type: "transaction.payment_failed",
      occurred_at: "2026-05-04T08:15:12.120972Z",
      notification_id: "ntf_01hv8wx4ywcj8pptnpeq1rrvzm",
      data: {
        id: "txn_01hv8wptq8987qeep44cyrewp9",
        status: "past_due",
        origin: "subscription_recurring",
        customer_id: "ctm_01hv6y1jedq4p1n0yqn5ba3ky4",
        address_id: "add_01hv8gq3318ktkfengj2r75gfx",
        business_id: null,
        subscription_id: "sub_01hv8x29kz0t586xy6zn1a62ny",
        invoice_number: null,
        collection_mode: "automatic",
        currency_code: "USD",
        custom_data: null,
        discount_id: null,
        items: [
          {
            price: {
              id: "pri_01gsz8x8sawmvhz1pv30nge1ke",
              name: "Monthly (per seat)",
              description: "Monthly",
              product_id: "pro_01gsz4t5hdjse780zja8vvr7jg",
              unit_price: { amount: "3000", currency_code: "USD" },
              billing_cycle: { interval: "month", frequency: 1 }
            },
            quantity: 10,
            proration: null
          }
        ],
        details: {
          totals: {
            subtotal: "30000",
            tax: "2662",
            discount: "0",
            total: "32662",
            grand_total: "32662",
            balance: "32662",
            currency_code: "USD"
          }
        },
        payments: [
          {
            payment_attempt_id: "937640dd-e3dc-40df-a16c-bb75aafd8f71",
            status: "error",
            amount: "32662",
            error_code: "declined",
            method_details: {
              type: "card",
              card: { type: "visa", last4: "0002", expiry_month: 11, expiry_year: 2027, cardholder_name: "Rosa Diaz" }
            },
            captured_at: null,
            created_at: "2026-05-04T08:15:11.812345Z"
          }
        ],
        checkout: { url: null },
        billed_at: "2026-05-04T08:15:10.052314Z",
        created_at: "2026-05-04T08:15:09.736212Z",
        updated_at: "2026-05-04T08:15:11.955123Z"
      }
    }
  },
  documentation: "https://developer.paddle.com/webhooks/transactions/transaction-payment-failed"
}
