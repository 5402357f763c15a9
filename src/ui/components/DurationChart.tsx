import { axisMaximum, type Bucket, ChartFrame, formatBucketStart, usePlotArea } from "./ChartFrame.tsx"
import { formatDuration } from "./Format.ts"

/** How long successful runs took: a dot for the median, and a line from it to the slowest. */
export const DurationChart = ({ buckets }: { readonly buckets: ReadonlyArray<Bucket> }) => {
  const plot = usePlotArea()
  const slowest = Math.max(...buckets.map((bucket) => bucket.slowest_ms ?? 0), 0)
  const maximum = axisMaximum(Math.max(slowest, 10))
  const step = plot.width / Math.max(1, buckets.length)
  const yOf = (ms: number) => plot.bottom - plot.height * (ms / maximum)
  return (
    <ChartFrame
      title="Duration of successful runs: median (dot) and slowest (end of the line)"
      label={
        slowest === 0 ? "Duration: no successful runs" : `Duration: the slowest run took ${formatDuration(slowest)}`
      }
      buckets={buckets}
      maximum={maximum}
      format={formatDuration}
    >
      {buckets.map((bucket, i) => {
        if (bucket.median_ms === undefined) return null
        const { median_ms, slowest_ms = 0 } = bucket
        const x = plot.left + (i + 0.5) * step
        return (
          <g key={bucket.at}>
            <title>{`${formatBucketStart(bucket)}: median ${formatDuration(median_ms)}, slowest ${formatDuration(slowest_ms)}`}</title>
            <line className="range" x1={x} x2={x} y1={yOf(slowest_ms)} y2={yOf(median_ms)} />
            <circle className="median" cx={x} cy={yOf(median_ms)} r="3.5" />
          </g>
        )
      })}
    </ChartFrame>
  )
}
