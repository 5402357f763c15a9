import { axisMaximum, type Bucket, ChartFrame, formatBucketStart, usePlotArea } from "./ChartFrame.tsx"
import { countAll, describeCounts, series, sumCounts } from "./Counts.ts"
import { formatNumber } from "./Format.ts"

/** Runs by when they were accepted, stacked by how they ended. */
export const StatusChart = ({ buckets }: { readonly buckets: ReadonlyArray<Bucket> }) => {
  const plot = usePlotArea()
  const maximum = axisMaximum(Math.max(...buckets.map(countAll), 0))
  const step = plot.width / Math.max(1, buckets.length)
  return (
    <ChartFrame
      title="Runs"
      label={`Runs: ${describeCounts(sumCounts(buckets))}`}
      buckets={buckets}
      maximum={maximum}
      format={formatNumber}
    >
      {buckets.map((bucket, i) => {
        let y = plot.bottom
        return (
          <g key={bucket.at}>
            <title>{`${formatBucketStart(bucket)}: ${describeCounts(bucket)}`}</title>
            {series.map(({ key, tone }) => {
              const height = (bucket[key] / maximum) * plot.height
              y -= height
              return height > 0 ? (
                <rect
                  key={key}
                  className={`bar ${tone}`}
                  x={plot.left + i * step + 1}
                  y={y}
                  width={Math.max(1, step - 2)}
                  height={height}
                />
              ) : null
            })}
          </g>
        )
      })}
    </ChartFrame>
  )
}
