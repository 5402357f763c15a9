import { fromStrangers, json, type Recipe } from "./Recipe.ts"

export const standardWebhooks: Recipe = {
  label: "Standard Webhooks",
  name: "Events",
  summary: "Handles events of any service that uses Standard Webhooks, such as OpenAI and Svix.",
  starts: ["Every event"],
  verification: { preset: "standard-webhooks" },
  secret: "shown after",
  settings: { ...fromStrangers, accept_if: "payload.type", run_title: "{{payload.type}}" },
  prompt_template: `An event came:

{{#data}}
Type: {{payload.type}}
Time: {{payload.timestamp?}}

{{payload.data}}
{{/data}}

Say what it means, and do what has to be done.`,
  steps: [
    "Add an endpoint with the trigger URL, and choose events. OpenAI: “Settings”, “Project”, “Webhooks”. Svix: “Endpoints”, “Add Endpoint”.",
    "Set its signing secret (`whsec_…`, or a public key `whpk_…`) as the webhook's secret here.",
    "Most services can send an example."
  ],
  notes: ["Narrow `accept_if` to the events you want, such as payload.type == 'response.completed'."],
  sample: {
    headers: { ...json, "webhook-id": "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", "user-agent": "Svix-Webhooks/1.62.0" },
    payload: {
      type: "contact.created",
      timestamp: "2026-05-04T08:15:12.345678Z",
      data: { id: "1f81eb52-5198-4599-803e-771906343485", type: "contact", first_name: "Rosa", last_name: "Diaz" }
    }
  },
  documentation: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md"
}
