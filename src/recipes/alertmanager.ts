import { json, type Recipe, wholeRequest } from "./Recipe.ts"

const alert = (instance: string, at: string, fingerprint: string, status = "firing") => ({
  status,
  labels: { alertname: "InstanceDown", instance, job: "node", severity: "critical" },
  annotations: { summary: `${instance} has been down for more than 5 minutes` },
  startsAt: at,
  endsAt: status === "firing" ? "0001-01-01T00:00:00Z" : "2026-05-04T08:20:12.345Z",
  generatorURL: "http://prometheus.example.com:9090/graph?g0.expr=up+%3D%3D+0&g0.tab=1",
  fingerprint
})

export const alertmanager: Recipe = {
  label: "Alertmanager",
  name: "Look into alerts",
  summary: "Looks into each group of firing alerts.",
  verification: { preset: "alertmanager" },
  secret: "made here",
  settings: { ...wholeRequest, template_language: "liquid", accept_if: "payload.status == 'firing'" },
  prompt_template: `{% assign total = payload.truncatedAlerts | default: 0 | plus: payload.alerts.size -%}
{{ total }} alerts ({{ payload.receiver | truncate: 100 }}):
{% for alert in payload.alerts limit: 100 -%}
- {{ alert.status | upcase }} {{ alert.labels.alertname | default: "an alert" | truncate: 100 }}{% if alert.labels.instance %} on {{ alert.labels.instance | truncate: 150 }}{% endif %} since {{ alert.startsAt }}{% if alert.annotations.summary %}: {{ alert.annotations.summary | truncate: 500 }}{% endif %}
{% endfor %}{% if total > 100 %}(The first 100 of them.)
{% endif %}
Find the likely cause, and say what to do first.`,
  steps: [
    "Add the receiver below to alertmanager.yml. `url`: the trigger URL. `credentials`: the secret. `url_file` and `credentials_file` read them from files.",
    "Name it as `receiver` in `route` or one of its `routes`. Reload Alertmanager with SIGHUP or a POST to /-/reload."
  ],
  config: {
    file: "alertmanager.yml",
    text: `receivers:
  - name: agents
    webhook_configs:
      - url: TRIGGER_URL
        send_resolved: false
        max_alerts: 100
        http_config:
          authorization:
            type: Bearer
            credentials: SECRET
`
  },
  notes: [
    "Alertmanager retries only after a 5xx, so runs are queued while the team has no leader.",
    "`max_alerts` keeps requests below 1 MiB. The prompt names 100 alerts at most, with shortened texts, so that it is never too large.",
    "Alertmanager sends no signature or ID, so a group repeated after `repeat_interval` is another run.",
    "For Basic authentication, set `username` in the verification, and replace `authorization` in the receiver by `basic_auth` with `username` and `password`."
  ],
  sample: {
    headers: { ...json, "user-agent": "Alertmanager/0.28.1" },
    payload: {
      version: "4",
      groupKey: '{}:{alertname="InstanceDown"}',
      truncatedAlerts: 0,
      status: "firing",
      receiver: "agents",
      groupLabels: { alertname: "InstanceDown" },
      commonLabels: { alertname: "InstanceDown", job: "node", severity: "critical" },
      commonAnnotations: {},
      externalURL: "http://alertmanager.example.com:9093",
      alerts: [
        alert("web-1:9100", "2026-05-04T08:15:12.345Z", "1f0a5e4c2b6d7a89"),
        alert("web-2:9100", "2026-05-04T08:15:13.345Z", "2e1b6f5d3c7e8b90"),
        alert("web-3:9100", "2026-05-04T08:15:14.345Z", "3d2c7a6e4d8f9ca1", "resolved"),
        alert("db-1:9100", "2026-05-04T08:15:15.345Z", "4c3d8b7f5e9aadb2"),
        alert("db-2:9100", "2026-05-04T08:15:16.345Z", "5b4e9c8a6fabbec3")
      ]
    }
  },
  documentation: "https://prometheus.io/docs/alerting/latest/configuration/#webhook_config"
}
