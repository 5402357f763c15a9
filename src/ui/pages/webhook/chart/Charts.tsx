import { useEffect, useRef, useState } from "react"
import type { Statistics } from "../../../api/Types.ts"
import { countAll, series } from "../../../components/run/Counts.ts"
import { formatDollars, formatDuration, formatNumber } from "../../../format/Format.ts"
import { type Bucket, bucketName, ChartWidth } from "./ChartFrame.tsx"
import { StatusChart } from "./StatusChart.tsx"
import { UsageCharts } from "./UsageCharts.tsx"

export const Charts = ({
  statistics,
  onPick
}: {
  readonly statistics: Pick<Statistics, "buckets">
  /** Gets the bounds of the clicked bar, RFC 3339. The last bar has no end yet. */
  readonly onPick: (from: string, to: string | undefined) => void
}) => {
  const { buckets } = statistics
  const container = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(640)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry!.contentRect.width))))
    // All charts are as wide as the first one.
    observer.observe(container.current!.firstElementChild!)
    return () => observer.disconnect()
  }, [])
  const used = buckets.filter((bucket) => countAll(bucket) > 0)
  return (
    <ChartWidth.Provider value={width}>
      <div className="charts" ref={container}>
        <StatusChart buckets={buckets} onPick={onPick} />
        <UsageCharts statistics={statistics} />
        <div className="row between chart-notes">
          <ul className="legend small muted" aria-hidden="true">
            {series.map(({ key, label, tone }) => (
              <li key={key} className={tone}>
                {label}
              </li>
            ))}
          </ul>
          {used.length > 0 && (
            <details className="small">
              <summary>Show as a table</summary>
              <BucketTable buckets={used} nameOf={bucketName(buckets)} />
            </details>
          )}
        </div>
      </div>
    </ChartWidth.Provider>
  )
}

const formatOptional = (value: number | undefined, format = formatDuration): string =>
  value === undefined ? "–" : format(value)

const usageColumns: ReadonlyArray<[string, (usage: NonNullable<Bucket["usage"]>) => string]> = [
  ["Input tokens", ({ input_tokens }) => formatOptional(input_tokens, formatNumber)],
  ["Output tokens", ({ output_tokens }) => formatOptional(output_tokens, formatNumber)],
  ["Cost", ({ cost_usd }) => formatOptional(cost_usd, formatDollars)],
  ["Reported by", ({ reported }) => formatNumber(reported)]
]

const BucketTable = ({
  buckets,
  nameOf
}: {
  readonly buckets: ReadonlyArray<Bucket>
  readonly nameOf: (bucket: Bucket) => string
}) => {
  const columns = buckets.some(({ usage }) => usage) ? usageColumns : []
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Runs over time, as a table">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">From</th>
            {series.map(({ key, label }) => (
              <th key={key} scope="col" className="number">
                {label}
              </th>
            ))}
            <th scope="col" className="number">
              Median
            </th>
            <th scope="col" className="number">
              Slowest
            </th>
            {columns.map(([label]) => (
              <th key={label} scope="col" className="number">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {buckets.map((bucket) => (
            <tr key={bucket.at}>
              <th scope="row">{nameOf(bucket)}</th>
              {series.map(({ key }) => (
                <td key={key} className="number">
                  {formatNumber(bucket[key])}
                </td>
              ))}
              <td className="number">{formatOptional(bucket.median_ms)}</td>
              <td className="number">{formatOptional(bucket.slowest_ms)}</td>
              {columns.map(([label, text]) => (
                <td key={label} className="number">
                  {bucket.usage ? text(bucket.usage) : "–"}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
