import type { ReactNode } from "react"
import type { Statistics } from "../../../api/Types.ts"
import type { Tone } from "../../../components/Notice.tsx"
import { countAll, sumCounts } from "../../../components/run/Counts.ts"
import {
  formatCompact,
  formatDollars,
  formatDollarsCompact,
  formatNumber,
  plural,
  sumUsage
} from "../../../format/Format.ts"
import { axisMaximum, Bars, type Bucket, bucketName, ChartFrame, usePlotArea } from "./ChartFrame.tsx"

type Usage = NonNullable<Bucket["usage"]>

interface Part {
  readonly tone: Tone
  readonly of: (usage: Usage) => number | undefined
}

const tokens: ReadonlyArray<Part> = [
  { tone: "info", of: ({ input_tokens }) => input_tokens },
  { tone: "success", of: ({ output_tokens }) => output_tokens }
]
const cost: ReadonlyArray<Part> = [{ tone: "success", of: ({ cost_usd }) => cost_usd }]

/** The tokens and the cost that agents reported. Nothing if they reported none. */
export const UsageCharts = ({ statistics: { buckets } }: { readonly statistics: Pick<Statistics, "buckets"> }) => {
  const total = sumUsage(buckets)
  if (total === undefined) return null
  const { cost_usd, input_tokens, output_tokens } = total
  const reported = `reported by ${formatNumber(total.reported)} of ${plural(countAll(sumCounts(buckets)), "run")}`
  return (
    <>
      {(input_tokens !== undefined || output_tokens !== undefined) && (
        <UsageChart
          title="Tokens"
          label={`Tokens: ${describeTokens(total)}, ${reported}`}
          caption={
            <span className="legend">
              <span>Tokens, {reported}:</span>
              {input_tokens !== undefined && <span className="key info">{formatNumber(input_tokens)} input</span>}
              {output_tokens !== undefined && <span className="key success">{formatNumber(output_tokens)} output</span>}
            </span>
          }
          buckets={buckets}
          parts={tokens}
          least={4}
          format={formatCompact}
          describe={describeTokens}
        />
      )}
      {cost_usd !== undefined && (
        <UsageChart
          title="Cost"
          label={`Cost: ${formatDollars(cost_usd)}, ${reported}`}
          caption={`Cost, ${reported}: ${formatDollars(cost_usd)}`}
          buckets={buckets}
          parts={cost}
          least={0.0001}
          format={formatDollarsCompact}
          describe={({ cost_usd }) => (cost_usd === undefined ? "no cost reported" : formatDollars(cost_usd))}
        />
      )}
    </>
  )
}

const describeTokens = ({ input_tokens, output_tokens }: Usage): string =>
  [
    input_tokens === undefined ? [] : [`${formatNumber(input_tokens)} input`],
    output_tokens === undefined ? [] : [`${formatNumber(output_tokens)} output`]
  ]
    .flat()
    .join(", ")

const UsageChart = ({
  title,
  label,
  caption,
  buckets,
  parts,
  least,
  format,
  describe
}: {
  readonly title: string
  readonly label: string
  readonly caption: ReactNode
  readonly buckets: ReadonlyArray<Bucket>
  /** From the bottom up. */
  readonly parts: ReadonlyArray<Part>
  /** The lowest end of the axis. */
  readonly least: number
  readonly format: (value: number) => string
  readonly describe: (usage: Usage) => string
}) => {
  const plot = usePlotArea()
  const nameOf = bucketName(buckets)
  const totals = buckets.map(({ usage }) => (usage ? parts.reduce((sum, { of }) => sum + (of(usage) ?? 0), 0) : 0))
  const maximum = axisMaximum(Math.max(...totals), least)
  const step = plot.width / Math.max(1, buckets.length)
  return (
    <ChartFrame title={title} caption={caption} label={label} buckets={buckets} maximum={maximum} format={format}>
      {buckets.map((bucket, i) => {
        const { usage } = bucket
        if (usage === undefined) return null
        return (
          <g key={bucket.at}>
            <title>{`${nameOf(bucket)}: ${describe(usage)}`}</title>
            <Bars
              plot={plot}
              left={plot.left + i * step}
              step={step}
              maximum={maximum}
              parts={parts.map(({ of, tone }) => ({ tone, value: of(usage) ?? 0 }))}
            />
          </g>
        )
      })}
    </ChartFrame>
  )
}
