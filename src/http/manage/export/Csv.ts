/** RFC 4180, safe to open in a spreadsheet. */

/**
 * Text that a spreadsheet would evaluate gets an apostrophe, as OWASP advises on CSV injection: these texts come from
 * callers and agents.
 */
const withoutFormula = (text: string): string => (/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text)

const cell = (value: string | number | undefined): string => {
  if (typeof value !== "string") return value === undefined ? "" : String(value)
  const text = withoutFormula(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export const csvLine = (values: ReadonlyArray<string | number | undefined>): string => `${values.map(cell).join()}\r\n`
