import { fromStrangers, json, type Recipe } from "../Recipe.ts"
import { alertsPrompt, lineFor } from "./alertsPrompt.ts"

const silence = "https://grafana.example.com/alerting/silence/new?alertmanager=grafana&matcher="

export const grafana: Recipe = {
  label: "Grafana",
  name: "Look into Grafana's alerts",
  summary: "Looks into each group of firing alerts, with their values.",
  starts: ["Alerts: firing", "A resolved group cancels its runs"],
  verification: { preset: "grafana", timestamp_header: "X-Grafana-Alerting-Timestamp" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.status == 'firing'",
    singleton: { key: "{{ payload.groupKey }}", on_new: "queue" },
    cancel_if: "payload.status == 'resolved'",
    run_title: "{{ payload.title | default: payload.receiver }}"
  },
  prompt_template: alertsPrompt(
    "Grafana",
    `{{ payload.title | default: payload.receiver | truncate: 500 }}
From: {{ payload.externalURL | truncate: 200 }}`,
    `{% if alert.values %}values: {{ alert.values }}
{% endif %}${[
      lineFor("rule", "generatorURL"),
      lineFor("dashboard", "dashboardURL"),
      lineFor("panel", "panelURL"),
      lineFor("silence", "silenceURL")
    ].join("")}`
  ),
  steps: [
    "“Alerting”, “Contact points” (a tab of “Notification configuration” since Grafana 13), “Add contact point”. Integration: “Webhook”. “URL”: the trigger URL.",
    "“Optional Webhook settings”, “HMAC Signature”. “Secret”: the secret. “Timestamp Header”: X-Grafana-Alerting-Timestamp. “Max Alerts”: 100.",
    "“Test” sends an alert. Save.",
    "“Notification policies”: send alerts to the contact point."
  ],
  notes: [
    "Grafana before 12 cannot sign. Use an “Authorization Header” with the scheme Bearer there, and the verification `bearer` here.",
    "“Max Alerts” keeps requests below 1 MiB. The prompt names 100 alerts at most, 20 of them in full, with shortened texts, so that it is never too large.",
    "An alert that resolves cancels its runs. To have them go on, remove the cancel filter (`cancel_if`).",
    "Grafana sends no ID, so a repeated group is another run. Without the “Timestamp Header”, an unchanged group would start no second run for 7 days."
  ],
  sample: {
    headers: { ...json, "user-agent": "Grafana" },
    payload: {
      receiver: "Agents",
      status: "firing",
      orgId: 1,
      alerts: [
        {
          status: "firing",
          labels: { alertname: "Memory nearly full", team: "shop", zone: "eu-1" },
          annotations: {
            description: "Less than 5% of the memory is free",
            runbook_url: "https://runbooks.example.com/memory",
            summary: "Memory of eu-1 is nearly full"
          },
          startsAt: "2026-05-04T10:15:12.345678+02:00",
          endsAt: "0001-01-01T00:00:00Z",
          generatorURL: "https://grafana.example.com/alerting/grafana/dek5xq1/view",
          fingerprint: "c6eadffa33fcdf37",
          silenceURL: `${silence}zone%3Deu-1`,
          dashboardURL: "",
          panelURL: "",
          values: { B: 96.239437375, C: 1 }
        },
        {
          status: "firing",
          labels: { alertname: "Processor busy", team: "shop", zone: "us-1" },
          annotations: {
            description: "No processor was idle for 10 minutes",
            runbook_url: "https://runbooks.example.com/cpu",
            summary: "Processors of us-1 are busy"
          },
          startsAt: "2026-05-04T10:20:12.345678+02:00",
          endsAt: "0001-01-01T00:00:00Z",
          generatorURL: "https://grafana.example.com/alerting/grafana/dek5xq2/view",
          fingerprint: "bc97ff14869b13e3",
          silenceURL: `${silence}zone%3Dus-1`,
          dashboardURL: "",
          panelURL: "",
          values: { B: 99.5, C: 1 }
        }
      ],
      groupLabels: {},
      commonLabels: { team: "shop" },
      commonAnnotations: {},
      externalURL: "https://grafana.example.com/",
      version: "1",
      groupKey: "{}:{}",
      truncatedAlerts: 0,
      title: "[FIRING:2]  (shop)",
      state: "alerting",
      message: "**Firing**\n\nLabels:\n - alertname = Memory nearly full\n - team = shop\n - zone = eu-1\n"
    }
  },
  documentation:
    "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/"
}
