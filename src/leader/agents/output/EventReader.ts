import type { Task } from "../Agent.ts"
import { inParagraphs, type Piece } from "./Paragraphs.ts"
import { nothing, type Reading } from "./Reading.ts"

/** How an agent's events are read. */
export interface Events {
  /** The reading after one more event. */
  readonly read: (reading: Reading, event: unknown) => Reading
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
