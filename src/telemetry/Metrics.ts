/**
 * Recording of metrics for `/metrics` and OpenTelemetry. Labels are cached, because hashing them with `Metric.tagged` was
 * a tenth of the work for a trigger.
 */
import { MetricLabel } from "effect"
import type { Metric } from "effect"

const known = new Map<string, ReadonlyArray<MetricLabel.MetricLabel>>()

/** Returns the same array for the same labels in the same order, because metrics are found by identity. */
const labels = (pairs: Readonly<Record<string, string>>): ReadonlyArray<MetricLabel.MetricLabel> => {
  const key = JSON.stringify(pairs)
  let made = known.get(key)
  if (made === undefined) {
    made = Object.entries(pairs).map(([name, value]) => MetricLabel.make(name, value))
    known.set(key, made)
  }
  return made
}

/** Updates a counter or a histogram immediately, without a fiber. */
export const record = <Type, In, Out>(
  metric: Metric.Metric<Type, In, Out>,
  value: In,
  pairs: Readonly<Record<string, string>> = {}
): void => metric.unsafeUpdate(value, labels(pairs))

/** Shows a counter at 0 for each of these values of a label, so that its first increase is seen as one. */
export const begin = (counter: Metric.Metric.Counter<number>, label: string, values: ReadonlyArray<string>): void => {
  for (const value of values) record(counter, 0, { [label]: value })
}
