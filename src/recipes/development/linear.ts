import { fromStrangers, json, type Recipe } from "../Recipe.ts"

const url = "https://linear.app/acme/issue/SHOP-123/the-total-is-wrong-with-two-coupons"
const person = { id: "b5ea5f1f-8adc-4f52-b4bd-ab4e84cf51ba", name: "Rosa Diaz", email: "rosa@example.com" }
const state = { id: "f2f3cb4f-1f5e-4e3e-9f1b-2b9f8fdb3bb1", name: "Triage", type: "triage", color: "#fc7840" }
const team = { id: "72b2a2dc-6f4f-4423-9d34-24b5bd10634a", key: "SHOP", name: "Shop" }

export const linear: Recipe = {
  label: "Linear",
  name: "New issues of Linear",
  summary: "Works on each new issue.",
  starts: ["Issues: created", "Deleting an issue cancels its run"],
  verification: { preset: "linear" },
  secret: "shown after",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.type == 'Issue' && payload.action == 'create'",
    singleton: { key: "{{ payload.data.id }}", on_new: "queue" },
    cancel_if: "payload.type == 'Issue' && payload.action == 'remove'",
    run_title: "{{ payload.data.identifier }}: {{ payload.data.title }}"
  },
  prompt_template: `A new issue in Linear:

{% data %}
{{ payload.data.identifier }}: {{ payload.data.title }}
{{ payload.url | default: payload.data.url }}
Team: {{ payload.data.team.name | default: "unknown" }}
State: {{ payload.data.state.name }}
Priority: {{ payload.data.priorityLabel | default: payload.data.priority }}
Created by: {{ payload.actor.name | default: "unknown" }}
{% if payload.data.labels.size > 0 %}Labels: {{ payload.data.labels | map: "name" | join: ", " }}
{% endif %}{% if payload.data.project %}Project: {{ payload.data.project.name }}
{% endif %}{% if payload.data.dueDate %}Due: {{ payload.data.dueDate }}
{% endif %}
{% if payload.data.description %}{{ payload.data.description }}
{% endif %}{% enddata %}

Find what the issue is about, and propose how to solve it.`,
  steps: [
    "As a workspace admin: “Settings”, “API”, “Webhooks”, “New webhook”. “URL”: the trigger URL. “Data change events”: “Issues”. Save.",
    "Set its “Signing secret” (`lin_wh_…`) as the webhook's secret here."
  ],
  notes: [
    "Linear retries after a minute, an hour and six hours, then disables the webhook.",
    "A Linear app has one URL. Other webhooks can share it: see `shares` in docs/use/webhooks.md, “Share a URL”."
  ],
  sample: {
    headers: {
      ...json,
      "user-agent": "Linear-Webhook",
      "linear-delivery": "234d1a4e-b617-4388-90fe-adc3633d6b72",
      "linear-event": "Issue"
    },
    payload: {
      action: "create",
      type: "Issue",
      actor: { ...person, type: "user", url: "https://linear.app/acme/profiles/rosa" },
      createdAt: "2026-05-04T08:15:12.345Z",
      data: {
        id: "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9",
        createdAt: "2026-05-04T08:15:12.345Z",
        updatedAt: "2026-05-04T08:15:12.345Z",
        number: 123,
        identifier: "SHOP-123",
        url,
        title: "The total is wrong with two coupons",
        description: "Add two coupons, and the second one counts twice.",
        priority: 2,
        priorityLabel: "High",
        prioritySortOrder: -123.45,
        sortOrder: -67.89,
        addedToTeamAt: "2026-05-04T08:15:12.345Z",
        startedTriageAt: "2026-05-04T08:15:12.345Z",
        creatorId: person.id,
        creator: { ...person, avatarUrl: null, url: "https://linear.app/acme/profiles/rosa" },
        stateId: state.id,
        state,
        teamId: team.id,
        team,
        labelIds: ["3c8d2f5e-1c6a-4b0e-9d58-0a4f7b6c2d11"],
        labels: [{ id: "3c8d2f5e-1c6a-4b0e-9d58-0a4f7b6c2d11", name: "Bug", color: "#eb5757" }],
        previousIdentifiers: [],
        reactionData: [],
        releases: [],
        subscriberIds: [person.id]
      },
      url,
      organizationId: "7e5a2f0a-8b1f-4d62-9b60-2d8a1c3f4e55",
      webhookTimestamp: 1777882512345,
      webhookId: "000042e3-d123-4980-b49f-8e140eef9329"
    }
  },
  documentation: "https://linear.app/developers/webhooks"
}
