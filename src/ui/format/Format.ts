/** Formats numbers, durations, usage and messages. */
import { addReported } from "../../domain/run/UsageSum.ts"
import type { Activity } from "../api/Types.ts"

/** The user's preferred variant of English. It decides the format of numbers, dates and times. */
export const locale = navigator.languages.find((language) => /^en\b/i.test(language)) ?? "en-GB"

const numbers = new Intl.NumberFormat(locale)

export const formatNumber = (value: number): string => numbers.format(value)

const compact = new Intl.NumberFormat(locale, { notation: "compact" })

/** A short number, such as `1.2M`. */
export const formatCompact = (value: number): string => compact.format(value)

const compactDollars = new Intl.NumberFormat(locale, {
  style: "currency",
  currency: "USD",
  currencyDisplay: "narrowSymbol",
  notation: "compact",
  maximumSignificantDigits: 2
})

/** As short as it can be, for an axis. */
export const formatDollarsCompact = (value: number): string => compactDollars.format(value)

const dollars = new Intl.NumberFormat(locale, { style: "currency", currency: "USD", maximumFractionDigits: 4 })

/** US dollars. Agents cost fractions of a cent, so there are up to four decimals. */
export const formatDollars = (value: number): string => dollars.format(value)

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

/** `840 ms`, `3.2 s`, `4 min 5 s` */
export const formatDuration = (ms: number): string => {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const total = Math.round(ms / 1000)
  const [hours, minutes, seconds] = [Math.floor(total / 3600), Math.floor((total % 3600) / 60), total % 60]
  const parts =
    hours > 0 ? [`${hours} h`, minutes > 0 && `${minutes} min`] : [`${minutes} min`, seconds > 0 && `${seconds} s`]
  return parts.filter(Boolean).join(" ")
}

/** A limit, without decimals: `5 s`, `10 min`. */
export const formatSeconds = (seconds: number): string =>
  seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000)

/** An error message such as `must be positive` as a sentence. */
export const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

export type Usage = NonNullable<Activity["hours"][number]["usage"]>

/** The usage of the runs of these periods; `undefined` if none reported it. */
export const sumUsage = (periods: ReadonlyArray<{ readonly usage?: Usage }>): Usage | undefined => {
  const reported = periods.flatMap(({ usage }) => usage ?? [])
  return reported.length === 0 ? undefined : reported.reduce(addReported)
}

/** As in `$0.25, 1,200 input tokens, 80 output tokens`, without unknown amounts. */
export const describeUsage = ({ cost_usd, input_tokens, output_tokens }: Omit<Usage, "reported">): string =>
  [
    cost_usd === undefined ? [] : [formatDollars(cost_usd)],
    input_tokens === undefined ? [] : [plural(input_tokens, "input token")],
    output_tokens === undefined ? [] : [plural(output_tokens, "output token")]
  ]
    .flat()
    .join(", ")
