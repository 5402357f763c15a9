import { DateTime, Option, Result, Schema } from "effect"
import { time } from "../Time.ts"

/** So many days ahead, a caller may name a time. */
export const longestDays = 30

const asTime = Schema.decodeUnknownOption(time("When the run begins, at the earliest."))

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const afterDuration = (text: string, now: DateTime.Utc): Option.Option<DateTime.Utc> => {
  const [, count, unit] = /^(\d{1,7})([smhd])$/.exec(text) ?? []
  return count === undefined
    ? Option.none()
    : Option.some(DateTime.add(now, { milliseconds: Number(count) * units[unit!]! }))
}

/** A time (RFC 3339), or how long from `now`: `30m`, `8h`, `2d`. A plus sign that was not escaped arrives as a space. */
export const parse = (text: string, now: DateTime.Utc): Result.Result<DateTime.Utc, string> => {
  const named = Option.orElse(asTime(text.replace(" ", "+")), () => afterDuration(text, now))
  if (Option.isNone(named))
    return Result.fail("must be a time such as `2026-01-31T03:00:00Z`, or a duration such as `8h`")
  return DateTime.isLessThanOrEqualTo(named.value, DateTime.add(now, { days: longestDays }))
    ? Result.succeed(named.value)
    : Result.fail(`may be at most ${longestDays} days from now`)
}
