import type { Progress } from "../../../domain/run/Progress.ts"

/** What an event shows of the work. */
export interface Piece extends Progress {
  /** The text is complete: one that follows is another paragraph. */
  readonly isComplete?: boolean
}

/** Separates texts between which the agent did something else. */
export const inParagraphs = (report: (progress: Progress) => void): ((piece: Piece) => void) => {
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
