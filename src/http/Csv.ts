/** RFC 4180, safe to open in a spreadsheet. */

/**
 * What a spreadsheet would calculate is marked as text by an apostrophe, as OWASP advises on CSV injection: these texts come
 * from callers and agents.
 */
const withoutFormula = (text: string): string => (/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text)

const cell = (value: string | number | undefined): string => {
  if (value === undefined) return ""
  if (typeof value === "number") return String(value)
  const text = withoutFormula(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export const csvLine = (values: ReadonlyArray<string | number | undefined>): string =>
  `${values.map(cell).join(",")}\r\n`
