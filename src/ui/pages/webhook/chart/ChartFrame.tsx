import { createContext, type ReactNode, useContext } from "react"
import type { Statistics } from "../../../api/Types.ts"
import type { Tone } from "../../../components/Notice.tsx"
import { locale } from "../../../format/Format.ts"

export type Bucket = Statistics["buckets"][number]

const height = 80
const left = 40
const right = 4
const top = 7
const bottom = 18

/** The width of the charts' container, so that their text has the normal size. */
export const ChartWidth = createContext(640)

/** The area for the data, in units of the `viewBox`. */
export const usePlotArea = () => ({
  left,
  width: useContext(ChartWidth) - left - right,
  bottom: height - bottom,
  height: height - top - bottom
})

/** A round number at or above the maximum, for the end of the axis. */
export const axisMaximum = (value: number, least = 4): number => {
  if (value <= least) return least
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value)!
}

const hour = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" })
// The server counts days in UTC: in another time zone, a day's beginning may have the date before.
const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" })
const date = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" })
const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" })

const areDays = ([first, second]: ReadonlyArray<Bucket>): boolean =>
  first !== undefined && second !== undefined && Date.parse(second.at) - Date.parse(first.at) === 86_400_000

/** Names a bucket of these: by its day in UTC, or by its beginning for the viewer. */
export const bucketName = (buckets: ReadonlyArray<Bucket>): ((bucket: Bucket) => string) =>
  areDays(buckets) ? ({ at }) => `${date.format(new Date(at))} (UTC)` : ({ at }) => dateTime.format(new Date(at))

/** A chart's caption, its axes and their labels; `children` draw the data. */
export const ChartFrame = ({
  title,
  caption,
  label,
  buckets,
  maximum,
  format,
  children
}: {
  readonly title: string
  /** Shown in place of the title. Such a chart is an image, with nothing to click. */
  readonly caption?: ReactNode
  /** The chart's content, for screen readers. */
  readonly label: string
  readonly buckets: ReadonlyArray<Bucket>
  /** The value at the end of the vertical axis. */
  readonly maximum: number
  /** Writes a value of the vertical axis. */
  readonly format: (value: number) => string
  readonly children: ReactNode
}) => {
  const width = useContext(ChartWidth)
  const plot = usePlotArea()
  const daily = areDays(buckets)
  const labelled = (width < 480 ? [0, 0.5] : [0, 0.25, 0.5, 0.75])
    .map((part) => Math.floor(part * buckets.length))
    .filter((i) => buckets[i])
  return (
    <figure className="chart">
      <figcaption>{caption ?? title}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role={caption === undefined ? "group" : "img"} aria-label={label}>
        {[0, 1].map((part) => {
          const y = plot.bottom - plot.height * part
          return (
            <g key={part}>
              <line className="grid" x1={left} x2={width - right} y1={y} y2={y} />
              <text x={left - 6} y={y + 4} textAnchor="end">
                {format(maximum * part)}
              </text>
            </g>
          )
        })}
        {labelled.map((i) => (
          <text key={i} x={left + (i * plot.width) / buckets.length} y={height - 4}>
            {(daily ? day : hour).format(new Date(buckets[i]!.at))}
          </text>
        ))}
        {children}
      </svg>
    </figure>
  )
}

/** The bars of one bucket, stacked from the bottom up. */
export const Bars = ({
  plot,
  left,
  step,
  maximum,
  parts
}: {
  readonly plot: ReturnType<typeof usePlotArea>
  /** Where the bucket begins, and how wide it is. */
  readonly left: number
  readonly step: number
  /** The value at the top of the plot. */
  readonly maximum: number
  /** Each with a tone of its own. */
  readonly parts: ReadonlyArray<{ readonly tone: Tone; readonly value: number }>
}) => {
  let y = plot.bottom
  return parts.map(({ tone, value }) => {
    const height = (value / maximum) * plot.height
    y -= height
    return height > 0 ? (
      <rect key={tone} className={`bar ${tone}`} x={left + 1} y={y} width={Math.max(1, step - 2)} height={height} />
    ) : null
  })
}
