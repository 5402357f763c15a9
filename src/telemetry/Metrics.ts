/** Recording of metrics for `/metrics` and OpenTelemetry. */
import { Context, Metric } from "effect"

/** Updates a counter or a histogram immediately, without a fiber. */
export const record = <In, State>(
  metric: Metric.Metric<In, State>,
  value: In,
  labels: Readonly<Record<string, string>> = {}
): void => metric.updateUnsafe(value, Context.make(Metric.CurrentMetricAttributes, labels))

/** Shows a counter at 0 for each of these values of a label, so that its first increase is seen as one. */
export const begin = (counter: Metric.Counter<number>, label: string, values: ReadonlyArray<string>): void => {
  for (const value of values) record(counter, 0, { [label]: value })
}
