/**
 * The text of the one comment for all runs of an issue: the newest answer, and a line for each later run without one. Its
 * hidden first line says what is in it, so that the next run can change it.
 */
import { isEarly } from "../../../domain/delivery/DestinationEvent.ts"
import { headOf, type Sign } from "../../egress/Signature.ts"
import type { Dialect } from "../../markdown/Markdown.ts"
import type { Message } from "./Sender.ts"

/** The part of one run. */
interface Entry {
  /** As in a message. */
  readonly order: string
  readonly text: string
}

export interface Content {
  readonly main: Entry
  /** Else the newest run without an answer is shown as it is. */
  readonly isAnswer: boolean
  /** Oldest first. */
  readonly lines: ReadonlyArray<Entry>
}

/** The newest ones are shown. */
const maxLines = 5
/** Characters of a line, before it is escaped. */
const ofLine = 200
/** The milliseconds in the ID of a run. Of runs in the same one, the newest is the one that is delivered last. */
const isAfter = (one: string, other: string): boolean => one.slice(0, 13) > other.slice(0, 13)
const rule = "\n\n---\n\n"

type Written = Pick<Message, "event" | "order" | "title"> & {
  /** As the service shows it. */
  readonly text: string
}

/** The content of a comment after a run, or of a new one; `undefined`: no change, as later runs are in it. */
export const contentWith = (
  { event, order, text, title }: Written,
  dialect: Dialect,
  before?: Content
): Content | undefined => {
  const isAnswer = event === "run.succeeded" || event.startsWith("alert.")
  const main = { order, text }
  if (isEarly(event) && before !== undefined && ordersOf(before).includes(order)) return undefined
  if (before === undefined) return { main, isAnswer, lines: [] }
  const isNewer = !isAfter(before.main.order, order)
  if (isAnswer && before.isAnswer) {
    return isNewer ? { main, isAnswer, lines: before.lines.filter((line) => isAfter(line.order, order)) } : undefined
  }
  if (isAnswer) return { main, isAnswer, lines: isNewer ? [] : [firstLineOf(before.main)] }
  if (!isNewer) return undefined
  if (!before.isAnswer) return { main, isAnswer, lines: [] }
  const line = { order, text: dialect.text(title.slice(0, ofLine).toWellFormed()) }
  const lines = [...before.lines.filter((one) => one.order !== order), line].toSorted((a, b) =>
    a.order < b.order ? -1 : 1
  )
  return { ...before, lines: lines.slice(-maxLines) }
}

const ordersOf = ({ lines, main }: Content): ReadonlyArray<string> => [main, ...lines].map(({ order }) => order)

const firstLineOf = ({ order, text }: Entry): Entry => ({ order, text: text.split("\n")[0]! })

/** @param marker the beginning of the comment, by which it is found */
export const commentOf = ({ isAnswer, lines, main }: Content, marker: string, sign: Sign): string => {
  const text = `${main.text}${lines.length === 0 ? "" : rule}${lines.map(({ text }) => `- ${text}`).join("\n")}`
  const orders = [main.order, isAnswer ? "answer" : "status", ...lines.map(({ order }) => order)]
  return `${headOf(`${marker}${orders.join(" ")}`, text, sign)}${text}`
}

/** `undefined`: it is not readable. */
export const contentOf = (comment: string, marker: string): Content | undefined => {
  const rest = comment.slice(marker.length).replaceAll("\r\n", "\n")
  const [, order, kind, orders = "", text = ""] =
    /^([\w-]+) (answer|status)((?: [\w-]+)*) [\da-f]{32} -->\n([\s\S]*)$/.exec(rest) ?? []
  if (order === undefined) return undefined
  const ofLines = orders.split(" ").filter((one) => one !== "")
  const all = text.trimEnd().split("\n")
  const lines = ofLines.length === 0 ? [] : all.splice(-ofLines.length)
  const above = all.join("\n")
  return {
    main: { order, text: lines.length === 0 ? above : above.slice(0, above.lastIndexOf(rule.trimEnd())) },
    isAnswer: kind === "answer",
    lines: lines.map((line, i) => ({ order: ofLines[i]!, text: line.replace(/^- /, "") }))
  }
}
