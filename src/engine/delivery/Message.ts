/** The messages to people about a run or an alert. */
import { DateTime, Duration } from "effect"
import { type Alert, describeAlert } from "../../domain/alert/Alert.ts"
import {
  type AlertEvent,
  approvalEvent,
  type DestinationRunEvent,
  isEarly
} from "../../domain/delivery/DestinationEvent.ts"
import { type CancelledBy, type Run, stepForOthers } from "../../domain/run/Run.ts"
import { phaseOf } from "../../domain/run/RunStatus.ts"
import { isCommit } from "../../domain/run/WorkspaceRef.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { asCode, escapeMarkdown, safeUrl } from "../markdown/Markdown.ts"

/** The start or the end of a run that an event is about. */
export interface RunSubject {
  readonly event: DestinationRunEvent
  /** When it happened. Default: when the run ended. */
  readonly at?: DateTime.Utc
  readonly run: Run
  readonly webhook: Pick<Webhook, "id" | "name">
  readonly isTest?: boolean
}

export interface AlertSubject {
  readonly event: AlertEvent
  readonly alert: Alert
  readonly isTest?: boolean
}

export type Subject = RunSubject | AlertSubject

/** When it happened. */
export const timeOf = (subject: Subject): DateTime.Utc | undefined =>
  "run" in subject
    ? isEarly(subject.event)
      ? subject.at
      : subject.run.finished_at
    : (subject.alert.resolved_at ?? subject.alert.since)

/** A title can be a sentence of its own, so a mark sets the state apart from it. */
const states: { readonly [Event in DestinationRunEvent]: string } = {
  "run.awaiting_approval": "❓ waits for approval",
  "run.started": "▶️ started",
  "run.succeeded": "✅ succeeded",
  "run.failed": "❌ failed",
  "run.timed_out": "⏱️ timed out",
  "run.cancelled": "🚫 cancelled"
}

/** A message can be late. */
const stateOf = (event: DestinationRunEvent, run: Run): string =>
  event === approvalEvent && phaseOf(run) !== "waits for approval" ? "❓ waited for approval" : states[event]

/** Why, if what came later made the run needless. */
const overtaken: { readonly [By in CancelledBy]?: string } = {
  superseded: "Superseded by a newer run",
  event: "A later event cancelled it"
}

const detailOf = (event: DestinationRunEvent, { cancelled_by, error, last_step }: Run): string | undefined => {
  if (event === "run.cancelled") return cancelled_by && overtaken[cancelled_by]
  if (event === "run.timed_out") return stepForOthers(last_step)
  return isEarly(event) ? undefined : error?.message
}

const ofRun = ({ event, isTest = false, run, webhook }: RunSubject) => ({
  name: `${isTest ? "Test: " : ""}${run.title === undefined ? "" : `${run.title} · `}${webhook.name}`,
  // A run that has started may have ended by now, which is another event.
  end: [stateOf(event, run), detailOf(event, run) ?? []].flat().join(": ")
})

const lasted = ({ resolved_at, since }: Alert): string =>
  resolved_at === undefined
    ? ""
    : `, after ${Duration.format(Duration.seconds(Math.round(Duration.toSeconds(DateTime.distance(since, resolved_at)))))}`

const ofAlert = ({ alert, event, isTest = false }: AlertSubject) => ({
  begin: `${isTest ? "Test: " : ""}${event === "alert.firing" ? "Alert" : "Resolved"}`,
  text: `${describeAlert(alert).replace(/\s+/g, " ")}${event === "alert.resolved" ? lasted(alert) : ""}`
})

/** In a line, as plain text. */
export const titleOf = (subject: Subject): string => {
  if ("alert" in subject) {
    const { begin, text } = ofAlert(subject)
    return `${begin}: ${text}`
  }
  const { end, name } = ofRun(subject)
  return `${name} ${end}`.replace(/\s+/g, " ")
}

/** The commit or branch that an agent works on, for those who approve it. */
const workOf = (ref: string): string =>
  isCommit(ref) ? `Commit: ${ref}` : `Branch or tag: ${ref}, whatever it is when the agent starts`

/** Characters of an error that are shown. */
const ofError = 2_000

/**
 * As Markdown.
 *
 * @param body of a run: `thin`: only what happened. `full`: also the answer, and the links that the agent reported.
 */
export const markdownOf = (subject: Subject, body: "thin" | "full"): string => {
  if ("alert" in subject) {
    const { begin, text } = ofAlert(subject)
    return `**${begin}:** ${escapeMarkdown(text)}`
  }
  const { end, name } = ofRun(subject)
  const title = `**${escapeMarkdown(name)}** ${escapeMarkdown(end.slice(0, ofError).replace(/\s+/g, " "))}`
  if (subject.event === approvalEvent) {
    const { agent, conversation } = subject.run
    const work = agent?.workspace_ref === undefined ? "" : `\n\n${escapeMarkdown(workOf(agent.workspace_ref))}`
    return `${title}\n\n${asCode(conversation.prompt)}${work}`
  }
  if (body === "thin" || isEarly(subject.event)) return title
  const { conversation, links = [] } = subject.run
  const list = links.flatMap(({ title, url }) => {
    const safe = safeUrl(url)
    return safe === undefined ? [] : `- [${escapeMarkdown(title ?? safe)}](${safe})`
  })
  return [title, conversation.response ?? "", list.join("\n")].filter((text) => text !== "").join("\n\n")
}
