import type { Report } from "./Bus.ts"

/** The longest answer that is kept, in bytes of UTF-8. */
export const maxAnswer = 8 * 1024 * 1024

/** What takes the place of a longer one. */
export const answerTooLarge = "answer larger than 8 MiB"

/** A NUL, or half of a surrogate pair: a JavaScript string can hold them, a PostgreSQL text cannot. */
const unstorable = /[\0\uD800-\uDFFF]/gu

const storable = (text: string): string => text.replace(unstorable, "\uFFFD")

const withinLimit = (text: string): boolean =>
  text.length * 3 <= maxAnswer || (text.length <= maxAnswer && Buffer.byteLength(text) <= maxAnswer)

/**
 * The report as every bus hands it on: text that any database can keep, of bounded size. What a leader wrote is never
 * refused for a character, since the run would then wait for its timeout.
 */
export const acceptable = (report: Report): Report => {
  switch (report._tag) {
    case "Answered":
      return withinLimit(report.response)
        ? { ...report, response: storable(report.response) }
        : { _tag: "Failed", run_id: report.run_id, message: answerTooLarge }
    case "Failed":
      return { ...report, message: withinLimit(report.message) ? storable(report.message) : answerTooLarge }
    default:
      return report
  }
}
