/** An agent's reports while it works. Text and activity are transient: only the answer is complete. Steps are kept. */
import { Predicate } from "effect"
import { storable } from "../StorableText.ts"
import { mergeSteps, readStep, type StepReport } from "./Step.ts"

export interface Progress {
  /** Appended to the text so far. */
  readonly text?: string
  /** The agent's current activity, in one line: `Running the tests`. */
  readonly activity?: string
  /** Its steps. A step that begins is also the activity, if there is no other. */
  readonly steps?: ReadonlyArray<StepReport>
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
const newestText = (text: string): string => (text.length <= maxProgressText ? text : text.slice(-maxProgressText))

export const isNothing = ({ activity, steps, text }: Progress): boolean =>
  activity === undefined && steps === undefined && text === undefined

/** The reports as one. */
export const mergeProgress = (before: Progress, next: Progress): Progress => {
  const text = newestText((before.text ?? "") + (next.text ?? ""))
  const activity = next.activity ?? before.activity
  const steps = before.steps && next.steps ? mergeSteps(before.steps, next.steps) : (next.steps ?? before.steps)
  return { ...(text !== "" && { text }), ...(activity !== undefined && { activity }), ...(steps && { steps }) }
}

const firstLine = (text: string): string => (text.trim().split(/[\r\n]/, 1)[0] ?? "").trimEnd().slice(0, maxActivity)

/** The steps in a leader's message, `step` or `steps`. */
const readSteps = ({ step, steps }: { readonly step?: unknown; readonly steps?: unknown }) => {
  const given = [...(step === undefined ? [] : [step]), ...(Array.isArray(steps) ? steps : [])]
  return mergeSteps(
    [],
    given.flatMap((one) => readStep(one) ?? [])
  )
}

/** The agent's current activity, if the steps show it: texts are shown by themselves. */
export const activityIn = (steps: ReadonlyArray<StepReport>): string | undefined =>
  steps.findLast(({ kind, title }) => title !== undefined && kind !== undefined && kind !== "text")?.title

/** The report in a leader's message, as it can be stored. */
export const readReport = (message: Readonly<Record<string, unknown>>): Progress => {
  const { activity, text } = message
  const steps = readSteps(message)
  const now = typeof activity === "string" && activity.trim() !== "" ? firstLine(activity) : activityIn(steps)
  const progress = mergeProgress(
    {},
    {
      ...(typeof text === "string" && { text }),
      ...(now !== undefined && { activity: storable(now) }),
      ...(steps.length > 0 && { steps })
    }
  )
  return progress.text === undefined ? progress : { ...progress, text: storable(progress.text) }
}

/** The progress in a leader's message; `undefined` if it says nothing or has no number. */
export const readProgress = (message: unknown): NumberedProgress | undefined => {
  if (!Predicate.isObject(message)) return undefined
  const { seq } = message
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 0) return undefined
  const progress = readReport(message)
  return isNothing(progress) ? undefined : { seq, ...progress }
}
