/** When a webhook triggers itself: a cron expression and a time zone. */
import { Cron, DateTime, Result } from "effect"

/** Five fields, and perhaps a time zone. */
export const schedulePattern = "^\\S{1,100}(?: \\S{1,100}){4}(?: [A-Za-z][A-Za-z0-9_+/-]{0,62})?$"

/** The rule for a schedule, as an error message. */
export const scheduleAccepts =
  "must be a cron expression of five fields (minute, hour, day, month, weekday), each after one space, and may end with a time zone, such as `0 9 * * mon-fri Europe/Berlin`"

/** Parses a text that `schedulePattern` matches; fails with the reason. */
const parse = (schedule: string): Result.Result<Cron.Cron, string> => {
  const fields = schedule.split(" ")
  // A time of the day that comes twice counts once, but each hour has its own.
  const onDstOverlap = fields[1]!.includes("*") ? "both" : "earlier"
  const parsed = Cron.parse(fields.slice(0, 5).join(" "), fields[5] ?? "UTC", { onDstOverlap })
  return Result.mapError(parsed, ({ message }) => message)
}

/** Its next time after that; fails with the reason if there is none. */
export const nextTime = (schedule: string, after: DateTime.Utc): Result.Result<DateTime.Utc, string> =>
  Result.flatMap(parse(schedule), (cron) =>
    Result.try({ try: () => DateTime.fromDateUnsafe(Cron.next(cron, after)), catch: () => "it has no next time" })
  )
