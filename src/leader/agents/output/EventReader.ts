import type { Progress } from "../../../domain/run/Progress.ts"
import type { Task } from "../Agent.ts"
import { nothing, type Reading } from "./Reading.ts"

/** What an event shows of the work. */
interface Piece extends Progress {
  /** The text is complete: one that follows is another paragraph. */
  readonly isComplete?: boolean
}

/** Separates texts between which the agent did something else. */
const inParagraphs = (report: (progress: Progress) => void): ((piece: Piece) => void) => {
  let hasText = false
  let isBroken = false
  return ({ activity, isComplete = false, text = "" }) => {
    if (activity !== undefined) {
      isBroken = true
      report({ activity })
    }
    if (text === "") return
    report({ text: hasText && isBroken ? `\n\n${text}` : text })
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
  /** What the event shows of the work. */
  readonly progress: (event: unknown) => Piece | undefined
}

/** Reads events one by one. */
export interface EventReader {
  readonly take: (event: unknown) => void
  /** What they have shown so far. */
  readonly reading: () => Reading
}

/** A reader that also shows the work as progress, and keeps what is reported of it. */
export const readEvents = (events: Events, { progress, report }: Pick<Task, "progress" | "report">): EventReader => {
  const show = inParagraphs(progress)
  let reading = nothing
  return {
    take: (event) => {
      const before = reading.report
      reading = events.read(reading, event)
      if (reading.report !== undefined && reading.report !== before) report(reading.report)
      show(events.progress(event) ?? {})
    },
    reading: () => reading
  }
}
