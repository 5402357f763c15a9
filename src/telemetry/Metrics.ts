/**
 * What the service counts, for `/metrics` and OpenTelemetry. Labels are kept: `Metric.tagged` compares and hashes them at
 * every count, which was a tenth of the work for a trigger.
 */
import { type Metric, MetricLabel } from "effect"

const known = new Map<string, ReadonlyArray<MetricLabel.MetricLabel>>()

/** One and the same array for the same labels, in the same order: the metric finds its numbers by it. */
const labels = (pairs: Readonly<Record<string, string>>): ReadonlyArray<MetricLabel.MetricLabel> => {
  const key = JSON.stringify(pairs)
  let made = known.get(key)
  if (made === undefined) {
    made = Object.entries(pairs).map(([name, value]) => MetricLabel.make(name, value))
    known.set(key, made)
  }
  return made
}

/** Adds to a counter, or a value to a histogram, at once and without a fiber. */
export const record = <Type, In, Out>(
  metric: Metric.Metric<Type, In, Out>,
  value: In,
  pairs: Readonly<Record<string, string>> = {}
): void => metric.unsafeUpdate(value, labels(pairs))
