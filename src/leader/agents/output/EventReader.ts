import { activityIn, type Progress } from "../../../domain/run/Progress.ts"
import type { StepReport } from "../../../domain/run/Step.ts"
import type { Task } from "../Agent.ts"
import { isOwnTool, nothing, type Reading, textAt } from "./Reading.ts"

/** The part of the work that an event shows. */
interface Piece extends Progress {
  /** The text is complete: one that follows is another paragraph. */
  readonly isComplete?: boolean
}

/** A text as a step: one between tool calls may be long, and is cut when its secrets are removed. */
const maxSaid = 8_000

/** Separates texts between which the agent did something else, and makes steps of those texts. Times tool calls. */
const inParagraphs = (report: (progress: Progress) => void): ((piece: Piece) => void) => {
  let hasText = false
  let isBroken = false
  let said = ""
  const begun = new Map<string, { readonly title?: string; readonly at: number }>()

  const timed = (step: StepReport): StepReport => {
    const now = Date.now()
    const before = step.id === undefined ? undefined : begun.get(step.id)
    if (before === undefined) {
      if (step.id !== undefined && step.status === "running") begun.set(step.id, { ...step, at: now })
      return step.kind === undefined ? step : { at: new Date(now).toISOString(), ...step }
    }
    if (step.status === "running") return step
    // Its beginning has the rest.
    begun.delete(step.id!)
    const { kind: _, tool: __, detail: ___, ...end } = { title: before.title, ...step }
    return { duration_ms: Math.max(0, now - before.at), ...end } as StepReport
  }

  const own = new Set<string | undefined>()
  /** Our tools show themselves. */
  const isOwn = ({ id, title, tool }: StepReport): boolean => {
    if (isOwnTool(tool) || isOwnTool(title)) own.add(id ?? title)
    return own.has(id ?? title)
  }

  return ({ activity, isComplete = false, steps: reported = [], text = "" }) => {
    const steps = reported.filter((step) => !isOwn(step))
    if (activity !== undefined || steps.length > 0) {
      isBroken = true
      const between =
        steps.length === 0 || said.trim() === ""
          ? []
          : [{ kind: "text", title: said.trim(), detail: said.trim() } as const]
      if (steps.length > 0) said = ""
      const all = [...between, ...steps].map(timed)
      const now = activity ?? activityIn(all)
      report({ ...(now !== undefined && { activity: now }), ...(all.length > 0 && { steps: all }) })
    }
    if (text === "") return
    const paragraph = hasText && isBroken ? `\n\n${text}` : text
    report({ text: paragraph })
    if (said.length < maxSaid) said += paragraph
    hasText = true
    isBroken = isComplete
  }
}

/** How an agent's events are read. */
export interface Events {
  /** The reading after one more event. */
  readonly read: (reading: Reading, event: unknown) => Reading
  /** Whether the event shows what the model said, or the result of a tool, which begins another turn. */
  readonly speaker?: (event: unknown) => "model" | "tool" | undefined
  /** Whether the event shows that the model uses a tool, after which it is asked again: at the limit of turns, it is stopped before. */
  readonly usesTool?: (event: unknown) => boolean
  /** The part of the work that the event shows. */
  readonly progress: (event: unknown) => Piece | undefined
}

/** Reads events one by one. */
export interface EventReader {
  readonly take: (event: unknown) => void
  /** The reading of the events so far. */
  readonly reading: () => Reading
}

/** Endpoints and programs send these while nothing happens. */
const isKeepAlive = (event: unknown): boolean => /^(ping|heartbeat|keep[-_]?alive)$/.test(textAt(event, "type") ?? "")

/** A reader that also shows the work as progress, and keeps what is reported of it. */
export const readEvents = (
  events: Events,
  { heard, progress, report }: Pick<Task, "heard" | "progress" | "report">
): EventReader => {
  const show = inParagraphs(progress)
  let reading = nothing
  return {
    take: (event) => {
      if (!isKeepAlive(event)) heard?.()
      const before = reading.report
      reading = events.read(reading, event)
      if (reading.report !== undefined && reading.report !== before) report(reading.report)
      show(events.progress(event) ?? {})
    },
    reading: () => reading
  }
}
