import type { Activity } from "../../../api/Types.ts"
import { countAll, countFailures, describeCounts, sumCounts } from "../../../components/run/Counts.ts"

const hourCount = 24

/** One bar for each of the last 24 hours: runs in total, failed (red, at the bottom) and unfinished (blue, at the top). */
export const ActivityBars = ({ activity }: { readonly activity: Activity | undefined }) => {
  const byHour = new Map(activity?.hours.map((counts) => [counts.hour, counts]))
  const hours = Array.from({ length: hourCount }, (_, hour) => sumCounts([byHour.get(hour) ?? {}]))
  const most = Math.max(1, ...hours.map(countAll))
  const total = sumCounts(hours)
  const label = countAll(total) === 0 ? "No runs in the last 24 hours" : `Last 24 hours: ${describeCounts(total)}`
  return (
    <svg className="activity-bars" viewBox="0 0 144 28" role="img" aria-label={label} preserveAspectRatio="none">
      {hours.map((hour, i) => {
        const all = countAll(hour)
        const height = all === 0 ? 2 : Math.max(4, (all / most) * 26)
        const part = (count: number) => (all === 0 ? 0 : (height * count) / all)
        const [failed, unfinished] = [part(countFailures(hour)), part(hour.live)]
        return (
          <g key={i}>
            <rect
              className={all === 0 ? "empty-hour" : "runs-bar"}
              x={i * 6}
              y={28 - height}
              width="4.5"
              height={height}
              rx="1"
            />
            {unfinished > 0 && (
              <rect className="unfinished-bar" x={i * 6} y={28 - height} width="4.5" height={unfinished} rx="1" />
            )}
            {failed > 0 && (
              <rect className="failures-bar" x={i * 6} y={28 - failed} width="4.5" height={failed} rx="1" />
            )}
          </g>
        )
      })}
    </svg>
  )
}
