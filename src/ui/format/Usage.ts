import { addReported } from "../../domain/run/UsageSum.ts"
import type { Activity } from "../api/Types.ts"
import { formatDollars, plural } from "./Format.ts"

export type Usage = NonNullable<Activity["hours"][number]["usage"]>

/** What the runs of these periods used; `undefined` if none reported it. */
export const sumUsage = (periods: ReadonlyArray<{ readonly usage?: Usage }>): Usage | undefined => {
  const reported = periods.flatMap(({ usage }) => usage ?? [])
  return reported.length === 0 ? undefined : reported.reduce(addReported)
}

/** As in `$0.25, 1,200 input tokens, 80 output tokens`, without unknown amounts. */
export const describeUsage = ({ cost_usd, input_tokens, output_tokens }: Omit<Usage, "reported">): string =>
  [
    cost_usd === undefined ? [] : [formatDollars(cost_usd)],
    input_tokens === undefined ? [] : [plural(input_tokens, "input token")],
    output_tokens === undefined ? [] : [plural(output_tokens, "output token")]
  ]
    .flat()
    .join(", ")
