import { fromStrangers, json, type Recipe } from "../Recipe.ts"
import { alertsPrompt, lineFor } from "./alertsPrompt.ts"

/** An alert of a Kubernetes cluster, as the rules of kube-prometheus have it. */
const alert = (pod: string, at: string, fingerprint: string, status = "firing") => ({
  status,
  labels: {
    alertname: "KubePodCrashLooping",
    cluster: "eu-1",
    container: "api",
    namespace: "shop",
    pod,
    prometheus: "monitoring/k8s",
    reason: "CrashLoopBackOff",
    severity: "warning"
  },
  annotations: {
    description: `Pod shop/${pod} (api) is in waiting state (reason: "CrashLoopBackOff").`,
    runbook_url: "https://runbooks.prometheus-operator.dev/runbooks/kubernetes/kubepodcrashlooping",
    summary: "Pod is crash looping."
  },
  startsAt: at,
  endsAt: status === "firing" ? "0001-01-01T00:00:00Z" : "2026-05-04T08:20:12.345Z",
  generatorURL:
    "http://prometheus.example.com/graph?g0.expr=max_over_time%28kube_pod_container_status_waiting_reason&g0.tab=1",
  fingerprint
})

export const alertmanager: Recipe = {
  label: "Alertmanager",
  name: "Look into alerts",
  summary: "Looks into each group of firing alerts.",
  starts: ["Alerts: firing", "A resolved group cancels its runs"],
  verification: { preset: "alertmanager" },
  secret: "made here",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.status == 'firing'",
    singleton: { key: "{{ payload.groupKey }}", on_new: "queue" },
    cancel_if: "payload.status == 'resolved'",
    run_title:
      '{{ payload.commonLabels.alertname | default: "Alerts" }}: {{ payload.alerts | where: "status", "firing" | size }} firing{% if payload.commonAnnotations.summary %}, {{ payload.commonAnnotations.summary }}{% endif %}'
  },
  prompt_template: alertsPrompt(
    "Alertmanager",
    `From: {{ payload.externalURL | truncate: 200 }}
Receiver: {{ payload.receiver | truncate: 100 }}`,
    lineFor("source", "generatorURL")
  ),
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
        send_resolved: true
        max_alerts: 100
        http_config:
          authorization:
            type: Bearer
            credentials: SECRET
`
  },
  notes: [
    "Alertmanager retries only after a 5xx, so runs are queued while the team has no leader.",
    "`max_alerts` keeps requests below 1 MiB. The prompt names 100 alerts at most, 20 of them in full, with shortened texts, so that it is never too large.",
    "An alert that resolves cancels its runs. To have them go on, remove the cancel filter (`cancel_if`).",
    "Alertmanager sends no signature or ID, so a group repeated after `repeat_interval` is another run.",
    "For Basic authentication, set `username` in the verification, and replace `authorization` in the receiver by `basic_auth` with `username` and `password`."
  ],
  sample: {
    headers: { ...json, "user-agent": "Alertmanager/0.28.1" },
    payload: {
      version: "4",
      groupKey: '{}:{alertname="KubePodCrashLooping", namespace="shop"}',
      truncatedAlerts: 0,
      status: "firing",
      receiver: "agents",
      groupLabels: { alertname: "KubePodCrashLooping", namespace: "shop" },
      commonLabels: {
        alertname: "KubePodCrashLooping",
        cluster: "eu-1",
        container: "api",
        namespace: "shop",
        prometheus: "monitoring/k8s",
        reason: "CrashLoopBackOff",
        severity: "warning"
      },
      commonAnnotations: {
        runbook_url: "https://runbooks.prometheus-operator.dev/runbooks/kubernetes/kubepodcrashlooping",
        summary: "Pod is crash looping."
      },
      externalURL: "http://alertmanager.example.com:9093",
      alerts: [
        alert("api-7c9f6d5b8-x2x7k", "2026-05-04T08:15:12.345Z", "1f0a5e4c2b6d7a89"),
        alert("api-7c9f6d5b8-qw4zn", "2026-05-04T08:15:13.345Z", "2e1b6f5d3c7e8b90"),
        alert("api-5d88c6f7c9-8kdpl", "2026-05-04T08:15:14.345Z", "3d2c7a6e4d8f9ca1", "resolved")
      ]
    }
  },
  documentation: "https://prometheus.io/docs/alerting/latest/configuration/#webhook_config"
}
