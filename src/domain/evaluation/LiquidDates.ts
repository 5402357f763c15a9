/**
 * Dates in templates. The library creates a formatter for each name of a month or a day, and two for each time zone: a
 * quarter of a millisecond and 60 KB each. The names would be in the server's language, too.
 */
import { type FilterImplOptions, filters, toValue } from "liquidjs"
import { type Budget, spendOnText } from "./Budget.ts"
import { budgetOf } from "./LiquidContext.ts"

type Handler = Extract<FilterImplOptions, (...args: never) => unknown>
type This = ThisParameterType<Handler>

const own = filters.date as Handler

/** The work of reading a date and writing its numbers. */
const numbersWork = 500
const formatterWork = 10_000

/** Formatters of time zones in memory, at most: their names may be written in many ways. */
const maxZones = 50
const zones = new Map<string, Intl.DateTimeFormat>()

const formatterOf = (zone: string, budget: Budget): Intl.DateTimeFormat => {
  const known = zones.get(zone)
  if (known !== undefined) return known
  budget.spend(formatterWork)
  const fresh = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" })
  if (zones.size === maxZones) zones.clear()
  zones.set(zone, fresh)
  return fresh
}

/** How far UTC is ahead of the zone at that time, in minutes. */
const offsetOf = (zone: string, seconds: number, budget: Budget): number => {
  const parts = formatterOf(zone, budget).formatToParts(seconds * 1000)
  const shown = parts.find(({ type }) => type === "timeZoneName")!.value
  const [, sign = "+", hours = 0, minutes = 0] = /GMT(?:([+-])(\d+):(\d+))?/.exec(shown) ?? []
  return (sign === "+" ? -1 : 1) * (60 * Number(hours) + Number(minutes))
}

const text = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-US", { timeZone: "UTC", ...options })
const day = { year: "numeric", month: "numeric", day: "numeric" } as const
const time = { hour: "numeric", minute: "2-digit", second: "2-digit" } as const
const shortMonth = text({ month: "short" })

/** The directives that are not numbers. */
const inWords: { readonly [directive: string]: Intl.DateTimeFormat } = {
  a: text({ weekday: "short" }),
  A: text({ weekday: "long" }),
  b: shortMonth,
  B: text({ month: "long" }),
  c: text({ ...day, ...time }),
  h: shortMonth,
  x: text(day),
  X: text(time)
}

/** As the library reads directives. */
const directive = /%([-_0^#:]*)(\d*)[EO]?(.)/g

const padded = (word: string, flags: string, width: number, budget: Budget): string => {
  const cased = /[\^#]/.test(flags) ? word.toUpperCase() : word
  if (flags.includes("-")) return cased
  budget.spend(width)
  return cased.padStart(width, flags.includes("0") ? "0" : " ")
}

const shownBy = /^-?\d+(?: \d+){5}$/

/** The date as it is shown, as if it were in UTC; `undefined`: this is no date. */
const shownDate = (impl: This, value: unknown, offset: unknown): Date | undefined => {
  const numbers: unknown = own.call(impl, value, "%-Y %-m %-d %-H %-M %-S", offset)
  if (typeof numbers !== "string" || !shownBy.test(numbers)) return undefined
  const [year, month, ...rest] = numbers.split(" ").map(Number) as [number, number, number, number, number, number]
  const [date, ...hours] = rest
  const shown = new Date(0)
  shown.setUTCFullYear(year, month - 1, date)
  shown.setUTCHours(...hours)
  return shown
}

export const date: Handler = function (value, format, zone) {
  const budget = budgetOf(this.context)
  const spend = () => budget.spend(numbersWork)
  for (const arg of [value, format, zone]) spendOnText(budget, arg)
  spend()
  const name: unknown = toValue(zone)
  let offset = name
  let written = String(toValue(format) ?? this.context.opts.dateFormat)
  if (typeof name === "string") {
    spend()
    const seconds = Number(own.call(this, value, "%s"))
    if (Number.isNaN(seconds)) return value
    offset = offsetOf(name, seconds, budget)
    written = written.replace(directive, (all, flags, width, code) =>
      code === "Z" ? padded(name, flags, Number(width), budget) : all
    )
  }
  let shown: Date | undefined
  written = written.replace(directive, (all, flags, width, code) => {
    const words = inWords[code]
    if (words === undefined) return all
    spend()
    shown ??= shownDate(this, value, offset)
    return shown === undefined ? all : padded(words.format(shown), flags, Number(width), budget)
  })
  return own.call(this, value, written, offset)
}

const withMonth = (month: string): Handler =>
  function (value, type, style) {
    if (type !== "ordinal") return date.call(this, value, `%d ${month} %Y`)
    return date.call(this, value, style === "US" ? `${month} %-d%q, %Y` : `%-d%q ${month} %Y`)
  }

export const date_to_string = withMonth("%b")
export const date_to_long_string = withMonth("%B")

export const date_to_rfc822: Handler = function (value) {
  return date.call(this, value, "%a, %d %b %Y %H:%M:%S %z")
}

export const date_to_xmlschema: Handler = function (value) {
  return date.call(this, value, "%Y-%m-%dT%H:%M:%S%:z")
}
