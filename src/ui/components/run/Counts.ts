/** Counts of runs by status, for charts and summaries. */
import { countRated, type FinalStatus, finalStatuses, successShare } from "../../../domain/run/RunStatus.ts"
import type { Counts } from "../../api/Types.ts"
import { formatNumber, locale, plural } from "../../format/Format.ts"
import type { Tone } from "../Notice.tsx"
import { statusDisplays } from "./Status.tsx"

/** One per final status, and one for unfinished runs, in stacking order. */
interface Series {
  readonly key: keyof Counts
  readonly label: string
  readonly tone: Tone
}

const unfinished: Series = { key: "live", label: "Unfinished", tone: "info" }

export const series: ReadonlyArray<Series> = [
  ...finalStatuses.map((key) => ({ key, label: statusDisplays[key].label, tone: statusDisplays[key].tone })),
  unfinished
]

const total = (counts: Counts, statuses: ReadonlyArray<FinalStatus>): number =>
  statuses.reduce((sum, status) => sum + counts[status], 0)

const failureStatuses = finalStatuses.filter((status) => statusDisplays[status].failure)

const countEnded = (counts: Counts): number => total(counts, finalStatuses)
export const countFailures = (counts: Counts): number => total(counts, failureStatuses)
export const countAll = (counts: Counts): number => countEnded(counts) + counts.live

/** Absent counts are 0. */
export const sumCounts = (all: ReadonlyArray<Partial<Counts>>): Counts =>
  Object.fromEntries(series.map(({ key }) => [key, all.reduce((sum, counts) => sum + (counts[key] ?? 0), 0)])) as Counts

const percent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1 })

/** As in `98.5%`; `undefined` if there are no runs to rate. */
export const successRate = (counts: Counts): string | undefined => {
  const share = successShare(counts)
  return share === undefined ? undefined : percent.format(share)
}

/** As in `50% of 2 runs`, or what there is else: `3 unfinished`, `1 cancelled`. `undefined`: no runs. */
export const summarizeCounts = (counts: Counts): string | undefined => {
  const rate = successRate(counts)
  if (rate !== undefined) return `${rate} of ${plural(countRated(counts), "run")}`
  const others = series.filter(({ key }) => counts[key] > 0)
  if (others.length === 0) return undefined
  return others.map(({ key, label }) => `${formatNumber(counts[key])} ${label.toLowerCase()}`).join(", ")
}

/** As in `3 successes, 1 error, 0 timeouts, 2 unfinished`. */
export const describeCounts = (counts: Counts): string =>
  [
    ...finalStatuses.map((status) => {
      const { label, plural: many } = statusDisplays[status]
      return plural(counts[status], label.toLowerCase(), many)
    }),
    `${formatNumber(counts.live)} ${unfinished.label.toLowerCase()}`
  ].join(", ")
