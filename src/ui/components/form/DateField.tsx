import { locale } from "../../format/Format.ts"

/** The start of a day in the user's time zone, plus `days`, as RFC 3339. */
const startOfDay = (date: string, days = 0): string | undefined => {
  const [year, month, day] = date.split("-").map(Number)
  if (!year || !month || !day) return undefined
  return new Date(year, month - 1, day + days).toISOString()
}

export const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" })

/** Parses a bound in the address: a day, or an exact time set by a chart. */
export const boundOf = (text: string, days = 0): string | undefined => {
  if (!text.includes("T")) return startOfDay(text, days)
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** The bound as shown in a date field. */
export const dayOf = (text: string): string => (text.includes("T") ? "" : text)

export const DateField = ({
  label,
  value,
  onChange
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}) => (
  <label className="field">
    <span className="label">{label}</span>
    <input type="date" className="input" value={value} onChange={(event) => onChange(event.target.value)} />
  </label>
)
