/** The prompt for a group of alerts, which Alertmanager and Grafana send in the same form. */

/**
 * In Liquid: the first 20 alerts with all that they have, and 80 more with their labels. The text of each is cut off, so that
 * the prompt of no group is over its limit of 256 KiB, in any language: it would be refused, and the alerts lost.
 *
 * @param about lines about the group
 * @param more lines about an alert, beside its labels and annotations
 */
export const alertsPrompt = (service: string, about: string, more: string): string => `Alerts of ${service}:

{% assign total = payload.truncatedAlerts | default: 0 | plus: payload.alerts.size -%}
{% data %}
${about}
Alerts: {{ payload.alerts | where: "status", "firing" | size }} firing, {{ payload.alerts | where: "status", "resolved" | size }} resolved{% if payload.truncatedAlerts > 0 %}, {{ payload.truncatedAlerts }} not sent{% endif %}
{% for alert in payload.alerts limit: 20 %}{% capture details %}
{{ alert.status | upcase }} {{ alert.labels.alertname | default: "an alert" }}{% if alert.labels.severity %} ({{ alert.labels.severity }}){% endif %} since {{ alert.startsAt }}{% if alert.status == "resolved" %} until {{ alert.endsAt }}{% endif %}
{% for annotation in alert.annotations %}{{ annotation[0] }}: {{ annotation[1] }}
{% endfor %}${more}labels: {% for label in alert.labels %}{% unless forloop.first %}, {% endunless %}{{ label[0] }}={{ label[1] }}{% endfor %}{% endcapture %}{{ details | truncate: 3000 }}
{% endfor %}{% for alert in payload.alerts offset: 20 limit: 80 %}{% if forloop.first %}
Further alerts:
{% endif %}{% capture details %}- {{ alert.status | upcase }}{% for label in alert.labels %} {{ label[0] }}={{ label[1] }}{% endfor %}{% endcapture %}{{ details | truncate: 150 }}
{% endfor %}{% if total > 100 %}(The first 100 of {{ total }} alerts.)
{% endif %}{% enddata %}

Find the likely cause, and say what to do first.`

/** A line about an alert, if it has a text there. */
export const lineFor = (title: string, name: string): string =>
  `{% if alert.${name} != blank %}${title}: {{ alert.${name} }}
{% endif %}`
