import type { Activity } from "../../api/Types.ts"
import { countAll, countFailures, describeCounts, sumCounts } from "../../components/run/Counts.ts"

const hourCount = 24

/** A bar of this height above a line, as part of a path. */
const bar = (hour: number, height: number, line = 28): string => `M${hour * 6} ${line - height}h4.5v${height}h-4.5z`

/**
 * One bar for each of the last 24 hours: runs in total, failed (red, at the bottom), cancelled (grey, above them) and unfinished
 * (blue, at the top). One path for each colour, since a page may have a hundred of these.
 */
export const ActivityBars = ({
  activity,
  most
}: {
  readonly activity: Activity | undefined
  /** Runs in the highest bar of all rows, which have one scale. */
  readonly most: number
}) => {
  const byHour = new Map(activity?.hours.map((counts) => [counts.hour, counts]))
  const hours = Array.from({ length: hourCount }, (_, hour) => sumCounts([byHour.get(hour) ?? {}]))
  const total = sumCounts(hours)
  const label = countAll(total) === 0 ? "No runs in the last 24 hours" : `Last 24 hours: ${describeCounts(total)}`
  let [empty, runs, unfinished, failures, cancelled] = ["", "", "", "", ""]
  for (const [at, hour] of hours.entries()) {
    const all = countAll(hour)
    if (all === 0) empty += bar(at, 2)
    else {
      const height = Math.max(4, (all / most) * 26)
      const part = (count: number) => (height * count) / all
      runs += bar(at, height)
      if (hour.live > 0) unfinished += bar(at, part(hour.live), 28 - height + part(hour.live))
      if (hour.cancelled > 0) cancelled += bar(at, part(hour.cancelled), 28 - part(countFailures(hour)))
      if (countFailures(hour) > 0) failures += bar(at, part(countFailures(hour)))
    }
  }
  return (
    <svg className="activity-bars" viewBox="0 0 144 28" role="img" aria-label={label} preserveAspectRatio="none">
      {empty !== "" && <path className="empty-hour" d={empty} />}
      {runs !== "" && <path className="runs-bar" d={runs} />}
      {unfinished !== "" && <path className="unfinished-bar" d={unfinished} />}
      {cancelled !== "" && <path className="cancelled-bar" d={cancelled} />}
      {failures !== "" && <path className="failures-bar" d={failures} />}
    </svg>
  )
}
