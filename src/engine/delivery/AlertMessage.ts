/** What people are told about an alert. */
import { DateTime, Duration } from "effect"
import { type Alert, describeAlert } from "../../domain/alert/Alert.ts"
import type { AlertSubject } from "./EventBody.ts"
import { escapeMarkdown } from "./markdown/Markdown.ts"

const lasted = ({ resolved_at, since }: Alert): string =>
  resolved_at === undefined
    ? ""
    : `, after ${Duration.format(Duration.seconds(Math.round(DateTime.distance(since, resolved_at) / 1000)))}`

const parts = ({ alert, event, isTest = false }: AlertSubject) => ({
  begin: `${isTest ? "Test: " : ""}${event === "alert.firing" ? "Alert" : "Resolved"}`,
  text: `${describeAlert(alert).replace(/\s+/g, " ")}${event === "alert.resolved" ? lasted(alert) : ""}`
})

/** In a line, as plain text. */
export const titleOf = (subject: AlertSubject): string => {
  const { begin, text } = parts(subject)
  return `${begin}: ${text}`
}

/** As Markdown. */
export const markdownOf = (subject: AlertSubject): string => {
  const { begin, text } = parts(subject)
  return `**${begin}:** ${escapeMarkdown(text)}`
}

/** The data of an event, and what templates read as `alert`. */
export const dataOf = (alert: Alert) => {
  const { condition, destination_id, id, name, rule_id, state, team, threshold, value, webhook_id } = alert
  return {
    alert_id: id,
    rule_id,
    condition,
    state,
    description: describeAlert(alert),
    ...(webhook_id !== undefined && { webhook: { id: webhook_id, name } }),
    team,
    destination_id,
    threshold,
    value,
    since: DateTime.formatIso(alert.since),
    resolved_at: alert.resolved_at && DateTime.formatIso(alert.resolved_at)
  }
}
