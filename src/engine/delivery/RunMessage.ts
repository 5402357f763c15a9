/** What people are told about a run. */
import { type DestinationRunEvent, startEvent } from "../../domain/delivery/DestinationEvent.ts"
import type { RunSubject } from "./EventBody.ts"
import { escapeMarkdown, safeUrl } from "./markdown/Markdown.ts"

const predicates: { readonly [Event in DestinationRunEvent]: string } = {
  "run.started": "started",
  "run.succeeded": "succeeded",
  "run.failed": "failed",
  "run.timed_out": "timed out",
  "run.cancelled": "was cancelled"
}

const parts = ({ event, isTest = false, run, webhook }: RunSubject) => ({
  name: `${isTest ? "Test: " : ""}${webhook.name}`,
  // A run that has started may have ended by now, which is another event.
  end: `${predicates[event]}${run.error === undefined || event === startEvent ? "" : `: ${run.error.message}`}`
})

/** In a line, as plain text. */
export const titleOf = (subject: RunSubject): string => {
  const { end, name } = parts(subject)
  return `${name} ${end}`.replace(/\s+/g, " ")
}

/** Characters of an error that are shown. */
const ofError = 2_000

/**
 * As Markdown.
 *
 * @param body `thin`: only how it ended. `full`: also the answer, and the links that the agent reported.
 */
export const markdownOf = (subject: RunSubject, body: "thin" | "full"): string => {
  const { end, name } = parts(subject)
  const title = `**${escapeMarkdown(name)}** ${escapeMarkdown(end.slice(0, ofError).replace(/\s+/g, " "))}`
  if (body === "thin" || subject.event === startEvent) return title
  const { conversation, links = [] } = subject.run
  const list = links.flatMap(({ title, url }) => {
    const safe = safeUrl(url)
    return safe === undefined ? [] : `- [${escapeMarkdown(title ?? safe)}](${safe})`
  })
  return [title, conversation.response ?? "", list.join("\n")].filter((text) => text !== "").join("\n\n")
}
