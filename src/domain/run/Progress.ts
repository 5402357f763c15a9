/** What an agent reports while it works. It is transient: the answer is the truth. */
import { Predicate } from "effect"
import { storable } from "../StorableText.ts"

export interface Progress {
  /** Appended to the text so far. */
  readonly text?: string
  /** What the agent does now, in one line: `Running the tests`. */
  readonly activity?: string
}

/** Progress as it is sent. */
export interface NumberedProgress extends Progress {
  /** Greater than that of the report before. A smaller one shows that the work has started over. */
  readonly seq: number
}

/** The longest text in one report, in UTF-16 code units. Of a longer one, the end is kept. */
export const maxProgressText = 64 * 1024
/** In UTF-16 code units. */
export const maxActivity = 200

/** The end of the text, as long as a report may be. */
export const newestText = (text: string): string =>
  text.length <= maxProgressText ? text : text.slice(-maxProgressText)

/** The reports as one. */
export const mergeProgress = (before: Progress, next: Progress): Progress => {
  const text = newestText((before.text ?? "") + (next.text ?? ""))
  const activity = next.activity ?? before.activity
  return { ...(text !== "" && { text }), ...(activity !== undefined && { activity }) }
}

const firstLine = (text: string): string => (text.trim().split(/[\r\n]/, 1)[0] ?? "").trimEnd().slice(0, maxActivity)

/** The progress in a leader's message, as it can be stored; `undefined` if it says nothing or has no number. */
export const readProgress = (message: unknown): NumberedProgress | undefined => {
  if (!Predicate.isRecord(message)) return undefined
  const { activity, seq, text } = message
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 0) return undefined
  const progress = mergeProgress(
    {},
    {
      ...(typeof text === "string" && { text }),
      ...(typeof activity === "string" && activity.trim() !== "" && { activity: storable(firstLine(activity)) })
    }
  )
  if (progress.text !== undefined) return { seq, ...progress, text: storable(progress.text) }
  return progress.activity === undefined ? undefined : { seq, ...progress }
}
