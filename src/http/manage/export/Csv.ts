/** RFC 4180, safe to open in a spreadsheet. */
import { piecesOf } from "./Pieces.ts"

/**
 * Text that a spreadsheet would evaluate gets an apostrophe, as OWASP advises on CSV injection: these texts come from
 * callers and agents.
 */
const withoutFormula = (text: string): string => (/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text)

function* cell(value: string | number | undefined): Generator<string> {
  if (typeof value !== "string") return yield value === undefined ? "" : String(value)
  const text = withoutFormula(value)
  if (!/[",\r\n]/.test(text)) return yield* piecesOf(text)
  yield '"'
  for (const piece of piecesOf(text)) yield piece.replaceAll('"', '""')
  yield '"'
}

/** A line, in pieces. */
export function* csvLine(values: ReadonlyArray<string | number | undefined>): Generator<string> {
  let before = ""
  for (const value of values) {
    yield before
    yield* cell(value)
    before = ","
  }
  yield "\r\n"
}
