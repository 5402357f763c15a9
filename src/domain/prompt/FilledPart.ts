/** A filled template, in parts: its text, its values, and the marks of its blocks of data. */
import { isNumber } from "../Json.ts"

/** The text of a value. */
export interface FilledValue {
  /** Its placeholder's name. */
  readonly name: string
  readonly text: string
  /** Whether it could contain instructions: a number, `true`, `false` and `null` cannot. */
  readonly isData: boolean
}

/** The beginning or the end of a block of data, which is marked as a whole. */
export interface BlockMark {
  readonly block: "open" | "close"
}

/** A text is the template's own. */
export type FilledPart = string | FilledValue | BlockMark

export const isDataValue = (value: unknown): boolean =>
  typeof value === "string" ? value !== "" : typeof value === "object" && value !== null && !isNumber(value)

export const textOfPart = (part: FilledPart): string =>
  typeof part === "string" ? part : "text" in part ? part.text : ""

/** Without marks. */
export const textOf = (parts: ReadonlyArray<FilledPart>): string => parts.map(textOfPart).join("")
