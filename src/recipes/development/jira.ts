import { fromStrangers, json, type Recipe } from "../Recipe.ts"

const host = "https://acme.atlassian.net"
const person = { accountId: "99:27935d01-92a7-4687-8272-a9b8d3b2ae2e", displayName: "Rosa Diaz", active: true }

export const jira: Recipe = {
  label: "Jira",
  name: "New issues of Jira",
  summary: "Works on each new issue.",
  starts: ["Issues: created"],
  verification: { preset: "jira" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.webhookEvent == 'jira:issue_created'",
    run_title: "{{ payload.issue.key }}: {{ payload.issue.fields.summary }}"
  },
  prompt_template: `A new issue in Jira:

{% data %}
{{ payload.issue.key }}: {{ payload.issue.fields.summary }}
{{ payload.issue.self | split: "/rest/" | first }}/browse/{{ payload.issue.key }}
Project: {{ payload.issue.fields.project.name }}
Type: {{ payload.issue.fields.issuetype.name }}
Priority: {{ payload.issue.fields.priority.name | default: "none" }}
Created by: {{ payload.user.displayName | default: "unknown" }}
{% if payload.issue.fields.labels.size > 0 %}Labels: {{ payload.issue.fields.labels | join: ", " }}
{% endif %}{% if payload.issue.fields.components.size > 0 %}Components: {{ payload.issue.fields.components | map: "name" | join: ", " }}
{% endif %}{% if payload.issue.fields.environment %}Environment: {{ payload.issue.fields.environment | adf_to_text }}
{% endif %}
{% if payload.issue.fields.description %}{{ payload.issue.fields.description | adf_to_text }}
{% endif %}{% enddata %}

Find what the issue is about, and propose how to solve it.`,
  steps: [
    "As an administrator: “Settings”, “System”, “WebHooks”, “Create a WebHook”. “URL”: the trigger URL. “Secret”: the secret.",
    "Event: “Issue”, “created”, with a JQL filter such as project = SHOP. Create it."
  ],
  notes: [
    "The filter `adf_to_text` turns Jira's rich text (Atlassian Document Format) into Markdown.",
    "Webhooks in Jira's automation rules are not signed. Add a header with a secret there, and use the verification `header` here.",
    "Jira Cloud retries up to five times after 408, 409, 425, 429, a 5xx or no answer."
  ],
  sample: {
    headers: {
      ...json,
      "user-agent": "Atlassian Webhook HTTP Client",
      "x-atlassian-webhook-identifier": "6cdb3d30-5a4a-4b3c-9a38-7d4e0c6b8f10",
      "x-atlassian-webhook-flow": "Primary"
    },
    payload: {
      timestamp: 1777882512345,
      webhookEvent: "jira:issue_created",
      issue_event_type_name: "issue_created",
      user: person,
      issue: {
        id: "99291",
        self: `${host}/rest/api/2/issue/99291`,
        key: "SHOP-17",
        fields: {
          summary: "The total is wrong with two coupons",
          description: "Add two coupons, and the second one counts twice.",
          issuetype: { id: "10004", name: "Bug", subtask: false },
          project: { id: "10001", key: "SHOP", name: "Shop", projectTypeKey: "software" },
          priority: { id: "3", name: "Medium" },
          status: { id: "10000", name: "To Do" },
          reporter: person,
          labels: ["coupons"],
          components: [{ id: "10002", name: "Checkout" }],
          environment: null,
          created: "2026-05-04T10:15:12.345+0200"
        }
      }
    }
  },
  documentation: "https://developer.atlassian.com/cloud/jira/platform/webhooks/"
}
