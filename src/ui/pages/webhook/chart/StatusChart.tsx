import { countAll, describeCounts, series, sumCounts } from "../../../components/run/Counts.ts"
import { formatNumber } from "../../../format/Format.ts"
import { axisMaximum, Bars, type Bucket, bucketName, ChartFrame, usePlotArea } from "./ChartFrame.tsx"

/** Runs by time of acceptance, stacked by status. A click on a bar shows its runs. */
export const StatusChart = ({
  buckets,
  onPick
}: {
  readonly buckets: ReadonlyArray<Bucket>
  readonly onPick: (from: string, to: string | undefined) => void
}) => {
  const plot = usePlotArea()
  const nameOf = bucketName(buckets)
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
        if (countAll(bucket) === 0) return null
        const text = `${nameOf(bucket)}: ${describeCounts(bucket)}`
        const pick = () => onPick(bucket.at, buckets[i + 1]?.at)
        return (
          <g
            key={bucket.at}
            className="bars"
            role="button"
            tabIndex={0}
            aria-label={`${text}. Show these runs`}
            onClick={pick}
            onKeyDown={(event) => {
              if (event.key !== "Enter" && event.key !== " ") return
              event.preventDefault()
              pick()
            }}
          >
            <title>{text}</title>
            {/* Makes low bars easy to hit. */}
            <rect
              className="hit"
              x={plot.left + i * step}
              y={plot.bottom - plot.height}
              width={step}
              height={plot.height}
            />
            <Bars
              plot={plot}
              left={plot.left + i * step}
              step={step}
              maximum={maximum}
              parts={series.map(({ key, tone }) => ({ tone, value: bucket[key] }))}
            />
          </g>
        )
      })}
    </ChartFrame>
  )
}
