import { StringDecoder } from "node:string_decoder"
import { maxReplyBody } from "../../../bus/Bodies.ts"

/** The longest line that is read, in UTF-16 code units: far longer than one with an answer. A longer one, of a tool's result, is skipped. */
export const maxLine = maxReplyBody

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
