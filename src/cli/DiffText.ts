import { diffLines, hunksOf } from "../domain/prompt/LineDiff.ts"
import { printable } from "./Output.ts"

const marks = { same: " ", removed: "-", added: "+" } as const

/** A unified diff without the file header, one text for each hunk. */
export const hunkTexts = (before: string, after: string): ReadonlyArray<string> =>
  hunksOf(diffLines(before, after)).map(({ lines }) => {
    const at = (side: "before" | "after") => {
      const numbers = lines.flatMap((line) => line[side] ?? [])
      return `${numbers[0] ?? 0},${numbers.length}`
    }
    const text = lines.map(({ kind, text }) => printable(marks[kind] + text))
    return [`@@ -${at("before")} +${at("after")} @@`, ...text].join("\n")
  })
