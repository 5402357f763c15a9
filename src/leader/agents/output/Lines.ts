import { StringDecoder } from "node:string_decoder"
import { maxAnswer } from "../../../bus/Bodies.ts"

/** The longest line that is read, in UTF-16 code units. An answer of 8 MiB fits; a longer line, of a tool's result, is skipped. */
export const maxLine = 6 * maxAnswer

/** Splits bytes into lines, in bounded memory. */
export const splitLines = (take: (line: string) => void) => {
  const decoder = new StringDecoder("utf8")
  let line = ""
  let isSkipped = false
  const end = () => {
    if (!isSkipped) take(line)
    line = ""
    isSkipped = false
  }
  return {
    write: (chunk: Uint8Array) => {
      const [first = "", ...lines] = decoder.write(chunk as Buffer).split("\n")
      line += first
      for (const next of lines) {
        end()
        line = next
      }
      if (line.length > maxLine) {
        isSkipped = true
        line = ""
      }
    },
    /** Takes what follows the last line break. */
    end
  }
}
