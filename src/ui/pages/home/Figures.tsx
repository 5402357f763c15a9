import { successShare } from "../../../domain/run/RunStatus.ts"
import type { Totals } from "../../api/Types.ts"
import { countAll } from "../../components/run/Counts.ts"
import { formatDollars, formatDuration, formatNumber, locale } from "../../format/Format.ts"

type Bucket = Totals["last_day"]

interface Figure {
  readonly label: string
  /** Absent: unknown, as the success rate without runs. */
  readonly of: (bucket: Bucket) => number | undefined
  readonly format: (value: number) => string
  /** How much more it is than the day before. */
  readonly change: (now: number, before: number) => string
}

const signed = new Intl.NumberFormat(locale, { maximumFractionDigits: 0, signDisplay: "exceptZero" })
const percent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 })

const byPercent = (now: number, before: number): string => `${signed.format((now / before - 1) * 100)}%`

const figures: ReadonlyArray<Figure> = [
  { label: "Runs", of: countAll, format: formatNumber, change: byPercent },
  {
    label: "Success rate",
    of: successShare,
    format: (rate) => percent.format(rate),
    change: (now, before) => `${signed.format((now - before) * 100)} pts`
  },
  { label: "Median time", of: ({ median_ms }) => median_ms, format: formatDuration, change: byPercent },
  {
    label: "Cost",
    of: ({ usage }) => usage?.cost_usd,
    format: (cost) => formatDollars(cost < 1 ? cost : Math.round(cost * 100) / 100),
    change: byPercent
  }
]

/** The last 24 hours in four numbers, beside the 24 hours before. */
export const Figures = ({ totals }: { readonly totals: Totals }) => (
  <section className="stack tight" aria-label="Last 24 hours">
    <h2>Last 24 hours</h2>
    <dl className="figures">
      {figures.map((figure) => {
        const [now, before] = [figure.of(totals.last_day), figure.of(totals.day_before)]
        const change = now === undefined || !before ? undefined : figure.change(now, before)
        return (
          <div key={figure.label} className="card figure">
            <dt className="small muted">{figure.label}</dt>
            <dd className="big">{now === undefined ? "–" : figure.format(now)}</dd>
            <dd className="small muted">{change === undefined ? "None the day before" : `${change} in a day`}</dd>
            <dd className="sparkline">
              <Sparkline values={totals.hours.map(figure.of)} />
            </dd>
          </div>
        )
      })}
    </dl>
  </section>
)

const [width, height] = [100, 30]

/** A line for the last 24 hours, and a pale one for the 24 before, with one scale. */
const Sparkline = ({ values }: { readonly values: ReadonlyArray<number | undefined> }) => {
  const half = values.length / 2
  const most = Math.max(...values.map((value) => value ?? 0)) || 1
  const line = (part: typeof values) =>
    part
      .flatMap((value, i) =>
        value === undefined ? [] : [`${(i / (half - 1)) * width},${height - (value / most) * height}`]
      )
      .join(" ")
  return (
    <svg viewBox={`0 -2 ${width} ${height + 4}`} preserveAspectRatio="none" aria-hidden="true">
      <polyline className="before" points={line(values.slice(0, half))} />
      <polyline points={line(values.slice(half))} />
    </svg>
  )
}
