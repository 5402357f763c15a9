import type { Activity, Counts } from "../api/Types.ts"

export const ended = (counts: Counts): number => counts.success + counts.error + counts.timeout

export const sum = (all: ReadonlyArray<Counts>): Counts =>
  all.reduce(
    (a, b) => ({
      success: a.success + b.success,
      error: a.error + b.error,
      timeout: a.timeout + b.timeout,
      live: a.live + b.live
    }),
    { success: 0, error: 0, timeout: 0, live: 0 }
  )

const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 })
export const count = new Intl.NumberFormat()

export const plural = (n: number, one: string, many = `${one}s`): string => `${count.format(n)} ${n === 1 ? one : many}`

/** Of the runs that ended, how many succeeded; none ended: none. */
export const successRate = (counts: Counts): string | undefined =>
  ended(counts) === 0 ? undefined : percent.format(counts.success / ended(counts))

/** 24 hours in 24 bars: the height says how many runs, the lower part in red how many of them failed. */
export const Strip = ({ activity }: { readonly activity: Activity | undefined }) => {
  const hours = activity?.hours ?? []
  const most = Math.max(1, ...hours.map((hour) => ended(hour) + hour.live))
  const total = sum(hours)
  const label =
    ended(total) + total.live === 0
      ? "No runs in the last 24 hours"
      : `Last 24 hours: ${plural(total.success, "success", "successes")}, ${plural(total.error, "error")}, ${plural(total.timeout, "timeout")}, ${count.format(total.live)} unfinished`
  return (
    <svg className="strip" viewBox="0 0 144 28" role="img" aria-label={label} preserveAspectRatio="none">
      {Array.from({ length: 24 }, (_, i) => {
        const hour = hours[i] ?? { success: 0, error: 0, timeout: 0, live: 0 }
        const all = ended(hour) + hour.live
        const height = all === 0 ? 2 : Math.max(4, (all / most) * 26)
        const failed = all === 0 ? 0 : (height * (hour.error + hour.timeout)) / all
        return (
          <g key={i}>
            <rect
              className={all === 0 ? "none" : "fine"}
              x={i * 6}
              y={28 - height}
              width="4.5"
              height={height}
              rx="1"
            />
            {failed > 0 && <rect className="failed" x={i * 6} y={28 - failed} width="4.5" height={failed} rx="1" />}
          </g>
        )
      })}
    </svg>
  )
}
