import type { Family } from "./PrometheusText.ts"

type Families = ReadonlyArray<Family>

/** Quantiles of several processes cannot be combined, so a summary keeps only its sum and count. */
const isQuantile = (type: Family["type"], series: string) => type === "summary" && /[{,]quantile="/.test(series)

/** Merges the metrics of several processes: adds up the values of the same series, or takes the largest. */
export const sum = (all: ReadonlyArray<Families>): Families => {
  const totals = new Map<string, { readonly family: Family; readonly samples: Map<string, number> }>()
  for (const family of all.flat()) {
    const { merge, name, samples, type } = family
    const total = totals.get(name) ?? { family, samples: new Map<string, number>() }
    totals.set(name, total)
    for (const [series, value] of samples) {
      if (isQuantile(type, series)) continue
      const before = total.samples.get(series) ?? 0
      total.samples.set(series, merge === "max" ? Math.max(before, value) : before + value)
    }
  }
  return [...totals.values()].map(({ family, samples }) => ({ ...family, samples: [...samples] }))
}

/**
 * The metrics of a server's processes, including ended ones. Their counts stay in the total, so that it never
 * decreases; their gauges do not.
 */
export class Totals {
  private readonly latest = new Map<number, Families>()
  private ended: Families = []

  /** A process's current metrics. */
  set(process: number, families: Families): void {
    this.latest.set(process, families)
  }

  end(process: number): void {
    const last = this.latest.get(process)?.filter(({ type }) => type !== "gauge") ?? []
    this.ended = sum([this.ended, last])
    this.latest.delete(process)
  }

  total(): Families {
    return sum([this.ended, ...this.latest.values()])
  }
}
