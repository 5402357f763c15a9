import { fromStrangers, json, type Recipe } from "../Recipe.ts"

const host = "https://acme.pagerduty.com"

export const pagerduty: Recipe = {
  label: "PagerDuty",
  name: "Look into incidents",
  summary: "Looks into each new incident.",
  starts: ["Incidents: triggered", "Resolving an incident cancels its run"],
  verification: { preset: "pagerduty" },
  secret: "shown after",
  settings: {
    ...fromStrangers,
    accept_if: "payload.event.event_type == 'incident.triggered'",
    singleton: { key: "{{payload.event.data.id}}", on_new: "queue" },
    cancel_if: "payload.event.event_type == 'incident.resolved'",
    run_title: "#{{payload.event.data.number}}: {{payload.event.data.title}}"
  },
  prompt_template: `A new incident in PagerDuty:

{{#data}}
#{{payload.event.data.number}}: {{payload.event.data.title}}
{{payload.event.data.html_url}}
Service: {{payload.event.data.service.summary}} {{payload.event.data.service.html_url?}}
Urgency: {{payload.event.data.urgency}}
Priority: {{payload.event.data.priority.summary?}}
Triggered: {{payload.event.data.created_at?}}, by {{payload.event.agent.summary?}}
Client: {{payload.event.client.name?}} {{payload.event.client.url?}}
Assigned to: {{payload.event.data.assignees.0.summary?}}
Escalation policy: {{payload.event.data.escalation_policy.summary?}}
Incident key: {{payload.event.data.incident_key?}}
{{/data}}

Find the likely cause, and say what to do first.`,
  steps: [
    "“Integrations”, “Generic Webhooks (v3)”, “New Webhook”. “Webhook URL”: the trigger URL. Choose services or teams, and the events incident.triggered and incident.resolved. “Add Webhook”.",
    "Set the secret, which PagerDuty shows once, as the webhook's secret here.",
    "“Send Test Event” on the webhook's page there sends an example, which is no incident and starts no run."
  ],
  notes: ["After a 5xx or 429, PagerDuty retries for a while, then disables the webhook for some time."],
  sample: {
    headers: {
      ...json,
      "user-agent": "PagerDuty-Webhook/V3.0",
      "x-webhook-id": "b0f5a5d4-5e0b-4b43-9b6a-0f4c0c8a9a01"
    },
    payload: {
      event: {
        id: "01BX9GWZ2FOVRTWRRVQ7WTMWO4",
        event_type: "incident.triggered",
        resource_type: "incident",
        occurred_at: "2026-05-04T08:15:12.345Z",
        agent: {
          html_url: `${host}/users/PLH1HKV`,
          id: "PLH1HKV",
          self: null,
          summary: "Rosa Diaz",
          type: "user_reference"
        },
        client: { name: "PagerDuty" },
        data: {
          id: "PGR0VU2",
          type: "incident",
          self: "https://api.pagerduty.com/incidents/PGR0VU2",
          html_url: `${host}/incidents/PGR0VU2`,
          number: 2,
          status: "triggered",
          incident_key: "d3640fbd41094207a1c11e58e46b1662",
          created_at: "2026-05-04T08:15:12Z",
          title: "The checkout answers slowly",
          service: {
            html_url: `${host}/services/PF9KMXH`,
            id: "PF9KMXH",
            self: null,
            summary: "Checkout",
            type: "service_reference"
          },
          assignees: [
            { html_url: `${host}/users/PTUXL6G`, id: "PTUXL6G", self: null, summary: "Ken Ito", type: "user_reference" }
          ],
          escalation_policy: { id: "PUS0KTE", summary: "Default", type: "escalation_policy_reference" },
          teams: [],
          priority: {
            html_url: `${host}/account/incident_priorities`,
            id: "PSO75BM",
            self: null,
            summary: "P1",
            type: "priority_reference"
          },
          urgency: "high",
          conference_bridge: null,
          resolve_reason: null
        }
      }
    }
  },
  documentation: "https://developer.pagerduty.com/docs/webhooks/webhooks-overview/"
}
