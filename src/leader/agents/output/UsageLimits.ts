/**
 * How agents, and the services of their models, say that a usage limit is reached, and when it ends. Only what is known to be a
 * failure is read: an answer may be about such limits.
 */
import { DateTime, Option, Predicate } from "effect"
import type { UsageLimit } from "../../../domain/run/UsageLimit.ts"

/** Texts, and codes in JSON, by where they come from. Each agent may pass on those of others. */
const patterns: Readonly<Record<string, ReadonlyArray<RegExp>>> = {
  claude: [
    // "You've hit your limit · resets 2pm", "… your session limit", "… your org's monthly spend limit"
    /\byou['’]?(?:ve| have) (?:hit|reached|exceeded) your (?:[\w'’-]+ ){0,4}(?:limit|quota)\b/i,
    // "Claude AI usage limit reached|1699999999", "5-hour limit reached ∙ resets 2am", "The usage limit has been reached"
    /\b(?:usage|session|spend|hour|daily|weekly|monthly|opus|sonnet|haiku) limit (?:has been |was |is )?(?:reached|exceeded)/i,
    /\bout of (?:extra usage|usage|credits|quota)\b/i,
    /\bcredit balance is too low\b/i,
    // "This request would exceed your account's rate limit."
    /\brate_limit_error\b|\bexceed\w* (?:your|the) [\w'’ -]{0,40}rate limit\b/i
  ],
  codex: [/\busage_?limit_?(?:reached|exceeded)\b/i, /\brate_limit_(?:reached|exceeded)\b/i, /\bquota exceeded\b/i],
  gemini: [
    /\bRESOURCE_EXHAUSTED\b|\bresource (?:has been )?exhausted\b/i,
    /\bexhausted your (?:[\w-]+ ){0,2}(?:capacity|quota)\b/i,
    /\bexceeded your (?:[\w-]+ ){0,2}quota\b/i,
    /\b(?:Terminal|Retryable)QuotaError\b|\bQUOTA_EXHAUSTED\b/
  ],
  opencode: [/UsageLimitError\b/, /\bfree usage exceeded\b/i],
  services: [
    /\binsufficient[_ ](?:quota|credits?|balance|funds)\b/i,
    /\brate[ _]?limit(?:s|ed)? (?:was |is |has been )?(?:exceeded|reached|hit)\b|\bRateLimitError\b/i,
    /\b(?:are|been|being) rate[ -]limited\b|\btoo many requests\b/i,
    /\b(?:status(?:[_ ]?code)?|code|error|http|rejected|status: got)\W{0,8}429\b|\b429 (?:too many|rejected)/i
  ]
}

const all = Object.values(patterns).flat()

/** In milliseconds. */
const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `3 hours 12 minutes`, `2h47m56.58s`, `an hour` */
const amount =
  "(\\d+(?:\\.\\d+)?|an?)\\s*(ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hrs?|hours?|d|days?)(?![a-z])"
const duration = new RegExp(`\\b(?:in|after|for|within|:)\\s*((?:${amount}[\\s,]*(?:and )?)+)`, "gi")

/** Before a time that is not the end of a limit, such as that of the next try, there is no such word. */
const beforeTime = /(?:reset|again|retry|wait|available|until|ends?\b|renew)[^.\n]{0,24}$/i

const durationIn = (text: string): number | undefined => {
  for (const found of text.matchAll(duration)) {
    if (!beforeTime.test(text.slice(0, found.index))) continue
    const parts = [...found[1]!.matchAll(new RegExp(amount, "gi"))]
    return parts.reduce((sum, [, count, unit]) => {
      const name = unit!.toLowerCase().startsWith("ms") || /^milli/i.test(unit!) ? "ms" : unit![0]!.toLowerCase()
      return sum + (/^a/i.test(count!) ? 1 : Number(count)) * units[name]!
    }, 0)
  }
  return undefined
}

/** A field of JSON, or a header, also within a text of JSON. */
const field = (names: string, value: string) =>
  new RegExp(`\\b(?:${names})[\\\\"']*\\s*[:=]\\s*[\\\\"'[]*(${value})`, "i")
const seconds = field("resets?_in_seconds|retry[-_]?after(?:[-_]seconds)?|retryDelay", "\\d+(?:\\.\\d+)?")
const epoch = field("resets?_?at|reset|anthropic-ratelimit-unified-reset", "\\d{10}(?:\\d{3})?\\b")
const afterBar = /limit reached\|(\d{10}(?:\d{3})?)\b/i
const iso = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/

const fromEpoch = (digits: string): number => Number(digits) * (digits.length === 13 ? 1 : 1_000)

const months = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
const days = "sun|mon|tue|wed|thu|fri|sat"
/** `2pm (Asia/Shanghai)`, `at 5:04 PM`, `Sep 15, 3am`, `Aug 8th, 2026 12:30 PM`, `on 9/23/2026`, `Monday at 9:00 UTC` */
const clock = new RegExp(
  `\\b(?:resets?|again|until|ends|available)(?: (?:on|at|by))*:? ` +
    `(?:(?<month>${months})[a-z]*\\.? (?<day>\\d{1,2})(?:st|nd|rd|th)?(?:,? (?<year>\\d{4}))?` +
    `|(?<m>\\d{1,2})/(?<d>\\d{1,2})/(?<y>\\d{4})|(?<weekday>${days})[a-z]*)?,?(?: at)? ?` +
    `(?:(?<hour>\\d{1,2})(?::(?<minute>\\d\\d))?(?::\\d\\d)?[  ]?(?<half>[ap]\\.?m)?\\.?(?![\\d/-]))?` +
    `(?: ?\\(?(?<zone>UTC|GMT|[A-Z]\\w+/[\\w/+-]+)\\)?)?`,
  "gi"
)

/** A text that names a time of today a little late means that time, not tomorrow's. */
const late = 30 * 60_000

/** The next such time. Without a zone, in that of this process: the agent runs here. */
const clockIn = (text: string, now: number): number | undefined => {
  for (const { groups = {} } of text.matchAll(clock)) {
    const { day, d, half, hour, m, minute, month, weekday, y, year, zone } = groups
    const isTime = hour !== undefined && (half !== undefined || minute !== undefined)
    const dayOf = day ?? d
    if (!isTime && dayOf === undefined) continue
    const timeZone = Option.getOrElse(
      zone === undefined ? Option.none() : DateTime.zoneFromString(zone.toUpperCase() === "GMT" ? "UTC" : zone),
      () => DateTime.zoneMakeLocal()
    )
    const today = DateTime.toParts(DateTime.makeZonedUnsafe(now, { timeZone }))
    const hours = !isTime ? 0 : half === undefined ? Number(hour) : (Number(hour) % 12) + (/^p/i.test(half) ? 12 : 0)
    const givenYear = year ?? y
    const at = (years: number, days: number): number | undefined =>
      Option.getOrUndefined(
        Option.map(
          DateTime.makeZoned(
            {
              year: (givenYear === undefined ? today.year : Number(givenYear)) + years,
              month:
                month !== undefined
                  ? months.split("|").indexOf(month.slice(0, 3).toLowerCase()) + 1
                  : Number(m ?? today.month),
              day: (dayOf === undefined ? today.day : Number(dayOf)) + days,
              hour: hours,
              minute: isTime ? Number(minute ?? 0) : 0,
              second: 0,
              millisecond: 0
            },
            { timeZone, adjustForTimeZone: true }
          ),
          DateTime.toEpochMillis
        )
      )
    const untilDay =
      weekday === undefined ? 0 : (days.split("|").indexOf(weekday.slice(0, 3).toLowerCase()) - today.weekDay + 7) % 7
    const first = at(0, untilDay)
    if (first === undefined || first > now || givenYear !== undefined) return first
    if (now - first < late) return undefined
    return dayOf !== undefined ? at(1, 0) : at(0, untilDay + (weekday === undefined ? 1 : 7))
  }
  return undefined
}

const endIn = (text: string, now: number): number | undefined => {
  const at = afterBar.exec(text)?.[1] ?? epoch.exec(text)?.[1]
  if (at !== undefined) return fromEpoch(at)
  const left = seconds.exec(text)?.[1]
  if (left !== undefined) return now + Number(left) * 1_000
  const time = iso.exec(text)
  if (time !== null && beforeTime.test(text.slice(0, time.index).replace(/[\\"':]+\s*[\\"']*$/, " ")))
    return Date.parse(time[0].replace(" ", "T"))
  const wait = durationIn(text)
  return wait === undefined ? clockIn(text, now) : now + wait
}

/** A limit that ends at this time, in milliseconds since 1970; undefined or invalid: unknown. */
export const limitUntil = (end: number | undefined): UsageLimit =>
  Option.match(end === undefined ? Option.none() : DateTime.make(end), {
    onNone: () => ({}),
    onSome: (until) => ({ until })
  })

/** The usage limit that a failure reports, if any: its text, or an error as JSON. For a spread. */
export const limitedBy = (failure: unknown, now = Date.now()): { readonly limited?: UsageLimit } => {
  const text = Predicate.isString(failure) ? failure : (JSON.stringify(failure) ?? "")
  return all.some((pattern) => pattern.test(text)) ? { limited: limitUntil(endIn(text, now)) } : {}
}
