import { MetricLabel } from "effect"

const known = new Map<string, ReadonlyArray<MetricLabel.MetricLabel>>()

/**
 * One and the same array for the same labels, in the same order: for `Metric.unsafeUpdate`, which finds its numbers by
 * it. `Metric.tagged` compares and hashes labels at every count, which is a tenth of a trigger.
 */
export const labels = (pairs: Readonly<Record<string, string>>): ReadonlyArray<MetricLabel.MetricLabel> => {
  const key = JSON.stringify(pairs)
  const before = known.get(key)
  if (before !== undefined) return before
  const made = Object.entries(pairs).map(([name, value]) => MetricLabel.make(name, value))
  known.set(key, made)
  return made
}
