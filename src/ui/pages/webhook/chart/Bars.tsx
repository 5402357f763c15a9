import type { Tone } from "../../../components/Tone.ts"
import type { usePlotArea } from "./ChartFrame.tsx"

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
