import { fromStrangers, json, type Recipe } from "../Recipe.ts"

export const microsoftGraph: Recipe = {
  label: "Microsoft Graph",
  name: "New mail",
  summary: "Handles new mail, or other changes in Microsoft 365.",
  starts: ["Messages: created"],
  verification: { preset: "microsoft-graph" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.value[?changeType == 'created']",
    run_title:
      "{{ payload.value[0].resource }}{% if payload.value.size > 1 %} and {{ payload.value.size | minus: 1 }} more{% endif %}"
  },
  prompt_template: `New in Microsoft 365:

{% data %}
{% for change in payload.value limit: 50 %}{{ change.changeType }}: https://graph.microsoft.com/v1.0/{{ change.resource }}
{% endfor %}{% enddata %}

Read each of them from Microsoft Graph, and do what has to be done.`,
  steps: [
    "Register an app in Microsoft Entra with the permission Mail.Read, and get an access token for it.",
    "POST the subscription below to https://graph.microsoft.com/v1.0/subscriptions. `notificationUrl`: the trigger URL. `clientState`: the secret.",
    "Graph tests the URL at once, which the server answers. Renew the subscription with a PATCH before `expirationDateTime`."
  ],
  config: {
    file: "subscription.json",
    text: `{
  "changeType": "created",
  "notificationUrl": "TRIGGER_URL",
  "resource": "users/support@example.com/mailFolders('inbox')/messages",
  "expirationDateTime": "2026-05-11T08:00:00Z",
  "clientState": "SECRET"
}
`
  },
  notes: [
    "A notification names what has changed, without its content: agents need a token of Microsoft Graph.",
    "Notifications have no ID, so a repeated notification starts another run. `coalesce` combines notifications that arrive together into one run.",
    "The secret is in the body. It is removed before prompts are made and requests are stored.",
    "The tokens of notifications with resource data (`validationTokens`) are not checked."
  ],
  sample: {
    headers: json,
    payload: {
      value: [
        {
          subscriptionId: "7f105c7d-2dc5-4530-97cd-4e7ae6534c07",
          subscriptionExpirationDateTime: "2026-05-11T08:00:00+00:00",
          changeType: "created",
          resource: "Users/622eaaff-0683-4862-9de4-f2ec83c2bd98/Messages/AAMkAGUwNjQ4ZjIxLTQ3Y2YtNDViMi1iZjc4",
          resourceData: {
            "@odata.type": "#Microsoft.Graph.Message",
            "@odata.id": "Users/622eaaff-0683-4862-9de4-f2ec83c2bd98/Messages/AAMkAGUwNjQ4ZjIxLTQ3Y2YtNDViMi1iZjc4",
            "@odata.etag": 'W/"CQAAABYAAADkrWGo7bouTKlsgTZMr9KwAAAUWRHf"',
            id: "AAMkAGUwNjQ4ZjIxLTQ3Y2YtNDViMi1iZjc4"
          },
          tenantId: "84bd8158-6d4d-4958-8b9f-9d6445542f95"
        }
      ]
    }
  },
  documentation: "https://learn.microsoft.com/graph/change-notifications-delivery-webhooks"
}
