/**
 * Effect's metrics in Prometheus's text format (exposition format 0.0.4). Written by hand: Effect's only exporter for
 * it is OpenTelemetry's, whose SDK every server would have to load.
 */
import { MetricKeyType, type MetricLabel, type MetricPair, MetricState } from "effect"
import { Option } from "effect"

/** A metric in Prometheus's sense: all series of one name. */
export interface Family {
  readonly name: string
  readonly help?: string
  readonly type: "counter" | "gauge" | "histogram" | "summary" | "untyped"
  readonly samples: ReadonlyArray<Sample>
}

type Sample = readonly [series: string, value: number]
type Labels = ReadonlyArray<readonly [name: string, value: string]>

const metricName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_")
const labelName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d)/, "_")
const escape = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const number = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

const sample = (name: string, labels: Labels, value: number | bigint): Sample => {
  const pairs = labels.map(([name, value]) => `${labelName(name)}="${escape(value).replaceAll('"', '\\"')}"`)
  return [`${name}${pairs.length > 0 ? `{${pairs.join()}}` : ""}`, Number(value)]
}

const labelsOf = (tags: ReadonlyArray<MetricLabel.MetricLabel>): Labels => tags.map(({ key, value }) => [key, value])

const read = (
  { metricKey, metricState: state }: MetricPair.MetricPair.Untyped,
  name: string
): [Family["type"], Array<Sample>] => {
  const labels = labelsOf(metricKey.tags)
  if (MetricState.isCounterState(state)) {
    const { keyType } = metricKey
    // Prometheus calls a counter that also decreases a gauge.
    const type = MetricKeyType.isCounterKey(keyType) && !keyType.incremental ? "gauge" : "counter"
    return [type, [sample(name, labels, state.count)]]
  }
  if (MetricState.isGaugeState(state)) return ["gauge", [sample(name, labels, state.value)]]
  if (MetricState.isFrequencyState(state)) {
    return ["counter", [...state.occurrences].map(([key, count]) => sample(name, [...labels, ["key", key]], count))]
  }
  if (MetricState.isHistogramState(state)) {
    const buckets = [...state.buckets].filter(([boundary]) => boundary !== Number.POSITIVE_INFINITY)
    const all = [...buckets, [Number.POSITIVE_INFINITY, state.count] as const]
    return [
      "histogram",
      [
        ...all.map(([boundary, count]) => sample(`${name}_bucket`, [...labels, ["le", number(boundary)]], count)),
        sample(`${name}_sum`, labels, state.sum),
        sample(`${name}_count`, labels, state.count)
      ]
    ]
  }
  if (MetricState.isSummaryState(state)) {
    const quantiles = [...state.quantiles].flatMap(([quantile, value]) =>
      Option.toArray(value).map((value) => sample(name, [...labels, ["quantile", String(quantile)]], value))
    )
    return [
      "summary",
      [...quantiles, sample(`${name}_sum`, labels, state.sum), sample(`${name}_count`, labels, state.count)]
    ]
  }
  return ["untyped", []]
}

/** Metrics by name, because their samples must be together under one `TYPE`. */
export const families = (pairs: ReadonlyArray<MetricPair.MetricPair.Untyped>): ReadonlyArray<Family> => {
  const found = new Map<string, Family & { readonly samples: Array<Sample> }>()
  for (const pair of pairs) {
    const name = metricName(pair.metricKey.name)
    const [type, samples] = read(pair, name)
    const family = found.get(name)
    if (family !== undefined) {
      family.samples.push(...samples)
      continue
    }
    const help = Option.getOrUndefined(pair.metricKey.description)
    found.set(name, { name, type, samples, ...(help !== undefined && { help }) })
  }
  return [...found.values()]
}

export const toText = (families: ReadonlyArray<Family>): string =>
  families
    .map(({ help, name, samples, type }) => [
      ...(help === undefined ? [] : [`# HELP ${name} ${escape(help)}`]),
      `# TYPE ${name} ${type}`,
      ...samples.map(([series, value]) => `${series} ${number(value)}`)
    ])
    .map((lines) => `${lines.join("\n")}\n`)
    .join("")
