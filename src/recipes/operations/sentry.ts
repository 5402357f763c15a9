import { fromStrangers, json, type Recipe } from "../Recipe.ts"

export const sentry: Recipe = {
  label: "Sentry",
  name: "Look into new issues of Sentry",
  summary: "Looks into each new issue.",
  starts: ["Issues: new", "Resolving or archiving an issue cancels its run"],
  verification: { preset: "sentry" },
  secret: "shown after",
  settings: {
    ...fromStrangers,
    accept_if: "headers.\"sentry-hook-resource\" == 'issue' && payload.action == 'created'",
    singleton: { key: "{{payload.data.issue.id}}", on_new: "queue" },
    cancel_if: "headers.\"sentry-hook-resource\" == 'issue' && contains(['resolved', 'archived'], payload.action)",
    run_title: "{{payload.data.issue.shortId}}: {{payload.data.issue.title}}"
  },
  prompt_template: `A new issue in Sentry:

{{#data}}
{{payload.data.issue.shortId}}: {{payload.data.issue.title}}
{{payload.data.issue.web_url?}}
Project: {{payload.data.issue.project.name}} ({{payload.data.issue.platform?}})
Level: {{payload.data.issue.level}}
Priority: {{payload.data.issue.priority?}}
In: {{payload.data.issue.culprit?}} {{payload.data.issue.metadata.filename?}}
First seen: {{payload.data.issue.firstSeen}}
Events: {{payload.data.issue.count?}}
Users: {{payload.data.issue.userCount?}}
API: {{payload.data.issue.url?}}
{{/data}}

Find the cause in the code, and propose a fix.`,
  steps: [
    "“Settings”, “Custom Integrations”, “Create New Integration”, “Internal Integration”. “Webhook URL”: the trigger URL.",
    "“Permissions”: at least “Read” for “Issue & Event”. “Webhooks”: “issue”. Save.",
    "Set “Credentials”, “Client Secret” as the webhook's secret here."
  ],
  notes: [
    "An issue is a group of errors. Further errors of the same kind send nothing.",
    "The request has no stack trace. To read it, agents need a token of Sentry: the latest event is at events/latest/ below the prompt's “API”.",
    "Sentry waits one second, and stops sending after 1,000 unanswered requests in a day. Triggers are answered before the run begins."
  ],
  sample: {
    headers: {
      ...json,
      "request-id": "7f2b9c1e-3f0c-4f62-9d8e-5b8f6f4a1c22",
      "sentry-hook-resource": "issue",
      "sentry-hook-timestamp": "1777882512"
    },
    payload: {
      action: "created",
      actor: { id: "sentry", name: "Sentry", type: "application" },
      data: {
        issue: {
          url: "https://sentry.io/api/0/organizations/acme/issues/1170820242/",
          web_url: "https://acme.sentry.io/issues/1170820242/",
          project_url: "https://acme.sentry.io/issues/?project=1",
          annotations: [],
          assignedTo: null,
          count: "1",
          culprit: "checkout(total)",
          firstSeen: "2026-05-04T08:15:12.345000Z",
          hasSeen: false,
          id: "1170820242",
          isBookmarked: false,
          isPublic: false,
          isSubscribed: false,
          lastSeen: "2026-05-04T08:15:12.345000Z",
          level: "error",
          logger: null,
          metadata: { filename: "/checkout.js", type: "TypeError", value: "total is undefined" },
          numComments: 0,
          permalink: null,
          platform: "javascript",
          priority: "high",
          project: { id: "1", name: "front-end", platform: "javascript", slug: "front-end" },
          shareId: null,
          shortId: "FRONT-END-9",
          status: "unresolved",
          statusDetails: {},
          subscriptionDetails: null,
          substatus: "new",
          title: "TypeError: total is undefined",
          type: "error",
          userCount: 1
        }
      },
      installation: { uuid: "a8e5d37a-696c-4c54-adb5-b3f28d64c7de" }
    }
  },
  documentation: "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/issues/"
}
