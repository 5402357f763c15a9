import { fromStrangers, type Recipe } from "../Recipe.ts"

export const eventGrid: Recipe = {
  label: "Azure Event Grid",
  name: "Events of Azure",
  summary: "Handles events of Azure, such as a new file in a storage account.",
  starts: ["Blobs: created"],
  verification: { preset: "event-grid", header: "X-Webhook-Secret" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.type == 'Microsoft.Storage.BlobCreated'",
    run_title: "{{ payload.type }}: {{ payload.subject | default: payload.source }}"
  },
  prompt_template: `An event of Azure:

{% data %}
Type: {{ payload.type }}
Subject: {{ payload.subject | default: "none" }}
Source: {{ payload.source }}
Time: {{ payload.time }}

{{ payload.data }}
{% enddata %}

Say what it means, and do what has to be done.`,
  steps: [
    "On the resource: “Events”, “Event Subscription”. “Event Schema”: “Cloud Event Schema v1.0”. Filter the event types: “Blob Created”.",
    "“Endpoint Type”: “Web Hook”. “Endpoint”: the trigger URL.",
    "“Delivery Properties”: add the header X-Webhook-Secret. Type: “Static”. Value: the secret. Mark it as “Secret?”.",
    "“Create”. Azure asks for confirmation, and the server gives it."
  ],
  notes: [
    "With “Event Grid Schema”, the body is a list of events: use payload[0].eventType and payload[0].data. The server answers its validation event too.",
    "Leave batches off (“Max events per batch”: 1): a list of several events has no ID, so a repeated one is another run.",
    "Event Grid retries for 24 hours, except after 400 and 413."
  ],
  sample: {
    headers: {
      "content-type": "application/cloudevents+json; charset=utf-8",
      "aeg-event-type": "Notification",
      "aeg-delivery-count": "0"
    },
    payload: {
      specversion: "1.0",
      type: "Microsoft.Storage.BlobCreated",
      source:
        "/subscriptions/5b4b650e-28b9-4790-b3ab-ddbd88d727c4/resourceGroups/shop/providers/Microsoft.Storage/storageAccounts/shopfiles",
      id: "9aeb0fdf-c01e-0131-0922-9eb54906e209",
      time: "2026-05-04T08:15:12.3456789Z",
      subject: "/blobServices/default/containers/orders/blobs/4711.csv",
      data: {
        api: "PutBlob",
        contentType: "text/csv",
        contentLength: 5_243,
        blobType: "BlockBlob",
        url: "https://shopfiles.blob.core.windows.net/orders/4711.csv"
      }
    }
  },
  documentation: "https://learn.microsoft.com/azure/event-grid/cloud-event-schema"
}
