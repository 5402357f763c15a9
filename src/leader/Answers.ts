import type { LeaderReply } from "../bus/Bus.ts"

/** How the work on a prompt ended. */
export type Answer = Extract<LeaderReply, { readonly _tag: "Answered" | "Failed" }>

/** The latest answers. They make it possible to answer a redelivered prompt without repeating the work. */
interface Answers {
  readonly get: (id: string) => Answer | undefined
  readonly put: (id: string, answer: Answer) => void
}

/** Not a `RecentMap`, since it is also bounded by size: keeps up to `count` answers with up to `size` UTF-16 code units in total, but always the latest one. */
export const make = ({ count = 1000, size = 64 * 1024 * 1024 } = {}): Answers => {
  // A map remembers the order of insertion.
  const answers = new Map<string, Answer>()
  let held = 0
  const sizeOf = (answer: Answer) =>
    (answer.response?.length ?? 0) + (answer._tag === "Failed" ? answer.message.length : 0)
  const forget = (id: string, answer: Answer) => {
    answers.delete(id)
    held -= sizeOf(answer)
  }
  return {
    get: (id) => {
      const answer = answers.get(id)
      if (answer !== undefined) {
        answers.delete(id)
        answers.set(id, answer)
      }
      return answer
    },
    put: (id, answer) => {
      const before = answers.get(id)
      if (before !== undefined) forget(id, before)
      answers.set(id, answer)
      held += sizeOf(answer)
      for (const [oldest, its] of answers) {
        if (answers.size === 1 || (answers.size <= count && held <= size)) break
        forget(oldest, its)
      }
    }
  }
}
