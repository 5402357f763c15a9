import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react"
import type { Statistics } from "../api/Types.ts"
import { count, ended, sum } from "./Strip.tsx"
import { duration } from "./Time.tsx"

type Bucket = Statistics["buckets"][number]

const height = 150
const left = 64
const bottom = 22
const plotHeight = height - bottom - 8

/** How wide the charts are drawn: as wide as they stand, so that their text is as large as all other text. */
const Width = createContext(640)
const usePlot = () => {
  const width = useContext(Width)
  return { width: width - left - 4, height: plotHeight }
}

/** A round number at or above the greatest value, so that the axis reads well. */
const ceiling = (value: number): number => {
  if (value <= 4) return 4
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value)!
}

const hour = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" })
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" })
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })

const Frame = ({
  title,
  label,
  buckets,
  top,
  write,
  children
}: {
  readonly title: string
  readonly label: string
  readonly buckets: ReadonlyArray<Bucket>
  readonly top: number
  readonly write: (value: number) => string
  readonly children: ReactNode
}) => {
  const width = useContext(Width)
  const plot = usePlot()
  const days = buckets.length > 1 && Date.parse(buckets[1]!.at) - Date.parse(buckets[0]!.at) > 3_600_000
  const marks = (width < 480 ? [0, 0.5] : [0, 0.25, 0.5, 0.75])
    .map((part) => Math.floor(part * buckets.length))
    .filter((i) => buckets[i])
  return (
    <figure className="chart">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <line
              className="grid"
              x1={left}
              x2={width - 4}
              y1={8 + plot.height * (1 - part)}
              y2={8 + plot.height * (1 - part)}
            />
            <text x={left - 6} y={12 + plot.height * (1 - part)} textAnchor="end">
              {write(top * part)}
            </text>
          </g>
        ))}
        {marks.map((i) => (
          <text key={i} x={left + (i * plot.width) / buckets.length} y={height - 6}>
            {(days ? day : hour).format(new Date(buckets[i]!.at))}
          </text>
        ))}
        {children}
      </svg>
    </figure>
  )
}

const kinds = ["success", "error", "timeout", "live"] as const
const kindText = { success: "Success", error: "Error", timeout: "Timeout", live: "Unfinished" }

/** Runs by when they were accepted, stacked by how they ended. */
const StatusChart = ({ buckets }: { readonly buckets: ReadonlyArray<Bucket> }) => {
  const plot = usePlot()
  const top = ceiling(Math.max(...buckets.map((bucket) => ended(bucket) + bucket.live), 0))
  const step = plot.width / Math.max(1, buckets.length)
  const total = sum(buckets)
  return (
    <Frame
      title="Runs"
      label={`Runs: ${kinds.map((kind) => `${total[kind]} ${kindText[kind].toLowerCase()}`).join(", ")}`}
      buckets={buckets}
      top={top}
      write={(value) => count.format(value)}
    >
      {buckets.map((bucket, i) => {
        let y = 8 + plot.height
        return (
          <g key={bucket.at}>
            <title>{`${moment.format(new Date(bucket.at))}: ${kinds.map((kind) => `${bucket[kind]} ${kindText[kind].toLowerCase()}`).join(", ")}`}</title>
            {kinds.map((kind) => {
              const tall = (bucket[kind] / top) * plot.height
              y -= tall
              return tall > 0 ? (
                <rect
                  key={kind}
                  className={`bar ${kind}`}
                  x={left + i * step + 1}
                  y={y}
                  width={Math.max(1, step - 2)}
                  height={tall}
                />
              ) : null
            })}
          </g>
        )
      })}
    </Frame>
  )
}

/** How long successful runs took: the middle one as a dot, the slowest as the end of its line. */
const DurationChart = ({ buckets }: { readonly buckets: ReadonlyArray<Bucket> }) => {
  const plot = usePlot()
  const slowest = Math.max(...buckets.map((bucket) => bucket.slowest_ms ?? 0), 0)
  const top = ceiling(Math.max(slowest, 10))
  const step = plot.width / Math.max(1, buckets.length)
  const at = (ms: number) => 8 + plot.height * (1 - ms / top)
  return (
    <Frame
      title="Duration of successful runs: median, and the line up to the slowest"
      label={slowest === 0 ? "Duration: no successful runs" : `Duration: the slowest run took ${duration(slowest)}`}
      buckets={buckets}
      top={top}
      write={duration}
    >
      {buckets.map((bucket, i) => {
        if (bucket.median_ms === undefined) return null
        const x = left + (i + 0.5) * step
        return (
          <g key={bucket.at}>
            <title>{`${moment.format(new Date(bucket.at))}: median ${duration(bucket.median_ms)}, slowest ${duration(bucket.slowest_ms ?? 0)}`}</title>
            <line className="reach" x1={x} x2={x} y1={at(bucket.slowest_ms ?? 0)} y2={at(bucket.median_ms)} />
            <circle className="median" cx={x} cy={at(bucket.median_ms)} r="3.5" />
          </g>
        )
      })}
    </Frame>
  )
}

export const Charts = ({ statistics }: { readonly statistics: Statistics }) => {
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(640)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry!.contentRect.width))))
    observer.observe(frame.current!)
    return () => observer.disconnect()
  }, [])
  const used = statistics.buckets.filter((bucket) => ended(bucket) + bucket.live > 0)
  return (
    <div className="stack">
      <div className="charts" ref={frame}>
        <Width.Provider value={width}>
          <StatusChart buckets={statistics.buckets} />
          <DurationChart buckets={statistics.buckets} />
        </Width.Provider>
      </div>
      <ul className="legend small muted" aria-hidden="true">
        {kinds.map((kind) => (
          <li key={kind} className={kind === "live" ? "live-runs" : kind}>
            {kindText[kind]}
          </li>
        ))}
      </ul>
      {used.length > 0 && (
        <details className="small">
          <summary>The same as a table</summary>
          <div className="table-scroll" tabIndex={0} role="region" aria-label="Runs by time, as a table">
            <table className="table">
              <thead>
                <tr>
                  <th scope="col">From</th>
                  {kinds.map((kind) => (
                    <th key={kind} scope="col" className="figure">
                      {kindText[kind]}
                    </th>
                  ))}
                  <th scope="col" className="figure">
                    Median
                  </th>
                  <th scope="col" className="figure">
                    Slowest
                  </th>
                </tr>
              </thead>
              <tbody>
                {used.map((bucket) => (
                  <tr key={bucket.at}>
                    <th scope="row">{moment.format(new Date(bucket.at))}</th>
                    {kinds.map((kind) => (
                      <td key={kind} className="figure">
                        {count.format(bucket[kind])}
                      </td>
                    ))}
                    <td className="figure">{bucket.median_ms === undefined ? "–" : duration(bucket.median_ms)}</td>
                    <td className="figure">{bucket.slowest_ms === undefined ? "–" : duration(bucket.slowest_ms)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      )}
    </div>
  )
}
