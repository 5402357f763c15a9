/** Searching and replacing in texts, within a budget: a result is counted before it is made. */
import { type Budget, itemWork } from "./Budget.ts"

/**
 * For longer search texts, V8's search time may grow with the product of both lengths: a minute for 100 KB in 700 KB, all
 * in one call that nothing stops. So only the beginning of such a text is searched for, and the rest is compared.
 */
const longestSearched = 250

/** As `text.indexOf(part, from)`. */
export const indexOf = (budget: Budget, text: string, part: string, from = 0): number => {
  const head = part.length > longestSearched ? part.slice(0, longestSearched) : part
  for (let at = text.indexOf(head, from); at >= 0; at = text.indexOf(head, at + 1)) {
    budget.spend(1 + (part.length >> 4))
    if (head === part || text.startsWith(part, at)) {
      budget.spend(Math.max(at - from, 0))
      return at
    }
  }
  budget.spend(Math.max(text.length - from, 0))
  return -1
}

/** As `text.lastIndexOf(part)`, which compares at every place. */
export const lastIndexOf = (budget: Budget, text: string, part: string): number => {
  if (part === "") return text.length
  let last = -1
  for (let at = indexOf(budget, text, part); at >= 0; at = indexOf(budget, text, part, at + 1)) {
    budget.spend(itemWork)
    last = at
  }
  return last
}

/** As `text.split(part)`. */
export const split = (budget: Budget, text: string, part: string): ReadonlyArray<string> => {
  if (part === "") {
    budget.spend(text.length * itemWork)
    return text.split("")
  }
  const pieces: Array<string> = []
  let from = 0
  for (let at = indexOf(budget, text, part); at >= 0; at = indexOf(budget, text, part, from)) {
    budget.spend(itemWork)
    pieces.push(text.slice(from, at))
    from = at + part.length
  }
  pieces.push(text.slice(from))
  return pieces
}

/** As `pieces.join(by)`. */
export const join = (budget: Budget, pieces: ReadonlyArray<string>, by: string): string => {
  let length = by.length * pieces.length
  for (const piece of pieces) length += piece.length
  budget.spend(length)
  return pieces.join(by)
}

/** Replaces `length` characters at the position with `by`. Changes nothing at the position -1, which means not found. */
export const splice = (budget: Budget, text: string, at: number, length: number, by: string): string => {
  if (at < 0) return text
  budget.spend(text.length + by.length)
  return text.slice(0, at) + by + text.slice(at + length)
}
