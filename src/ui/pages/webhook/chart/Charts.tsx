import { useEffect, useRef, useState } from "react"
import type { Statistics } from "../../../api/Types.ts"
import { countAll, series } from "../../../components/run/Counts.ts"
import { formatDuration, formatNumber } from "../../../format/Format.ts"
import { type Bucket, ChartWidth, formatBucketStart } from "./ChartFrame.tsx"
import { StatusChart } from "./StatusChart.tsx"

export const Charts = ({
  statistics: { buckets },
  onPick
}: {
  readonly statistics: Statistics
  /** Gets the bounds of the clicked bar, RFC 3339. The last bar has no end yet. */
  readonly onPick: (from: string, to: string | undefined) => void
}) => {
  const container = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(640)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry!.contentRect.width))))
    observer.observe(container.current!)
    return () => observer.disconnect()
  }, [])
  const used = buckets.filter((bucket) => countAll(bucket) > 0)
  return (
    <div className="stack">
      <div className="charts" ref={container}>
        <ChartWidth.Provider value={width}>
          <StatusChart buckets={buckets} onPick={onPick} />
        </ChartWidth.Provider>
      </div>
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
            <BucketTable buckets={used} />
          </details>
        )}
      </div>
    </div>
  )
}

const formatOptional = (ms: number | undefined): string => (ms === undefined ? "–" : formatDuration(ms))

const BucketTable = ({ buckets }: { readonly buckets: ReadonlyArray<Bucket> }) => (
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
        </tr>
      </thead>
      <tbody>
        {buckets.map((bucket) => (
          <tr key={bucket.at}>
            <th scope="row">{formatBucketStart(bucket)}</th>
            {series.map(({ key }) => (
              <td key={key} className="number">
                {formatNumber(bucket[key])}
              </td>
            ))}
            <td className="number">{formatOptional(bucket.median_ms)}</td>
            <td className="number">{formatOptional(bucket.slowest_ms)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
