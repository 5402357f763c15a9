/**
 * `/metrics`: Effect's metrics in Prometheus's text format (exposition format 0.0.4). By hand: Effect has no exporter for it
 * but OpenTelemetry's, which would bring its SDK into every server.
 */
import { HttpServerResponse } from "@effect/platform"
import { Effect, Metric, MetricKey, type MetricLabel, MetricPair, MetricState, Option } from "effect"
import type { Team } from "../domain/Team.ts"
import { Teams } from "../engine/Teams.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

type Labels = ReadonlyArray<readonly [name: string, value: string]>

const metricName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_")
const labelName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d)/, "_")
const escape = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const number = (value: number | bigint): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

const sample = (name: string, labels: Labels, value: number | bigint): string => {
  const pairs = labels.map(([name, value]) => `${labelName(name)}="${escape(value).replaceAll('"', '\\"')}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join()}}` : ""} ${number(value)}`
}

const labelsOf = (tags: ReadonlyArray<MetricLabel.MetricLabel>): Labels => tags.map(({ key, value }) => [key, value])

/** The metric's type in Prometheus, and its samples. */
const render = (name: string, labels: Labels, state: MetricState.MetricState.Untyped): [string, Array<string>] => {
  if (MetricState.isCounterState(state)) return ["counter", [sample(name, labels, state.count)]]
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

/** One block for each metric: its samples must be together, under one `TYPE`. */
export const toText = (pairs: ReadonlyArray<MetricPair.MetricPair.Untyped>): string => {
  const blocks = new Map<string, { readonly head: string; readonly samples: Array<string> }>()
  for (const { metricKey, metricState } of pairs) {
    const name = metricName(metricKey.name)
    const [type, samples] = render(name, labelsOf(metricKey.tags), metricState)
    const block = blocks.get(name)
    if (block !== undefined) {
      block.samples.push(...samples)
      continue
    }
    const help = Option.map(metricKey.description, (text) => `# HELP ${name} ${escape(text)}\n`)
    blocks.set(name, { head: `${Option.getOrElse(help, () => "")}# TYPE ${name} ${type}`, samples })
  }
  return [...blocks.values()].map(({ head, samples }) => `${[head, ...samples].join("\n")}\n`).join("")
}

const queued = MetricKey.gauge("webhook_team_queued", {
  description: "Runs accepted for the team and not yet sent."
})
const consumers = MetricKey.gauge("webhook_team_consumers", {
  description: "Leaders connected to the team's queue; 0: the team is not running."
})

const gaugesOf = (team: Team): ReadonlyArray<MetricPair.MetricPair.Untyped> => [
  MetricPair.unsafeMake(MetricKey.tagged(queued, "team", team.team), MetricState.gauge(team.queued)),
  MetricPair.unsafeMake(MetricKey.tagged(consumers, "team", team.team), MetricState.gauge(team.consumers))
]

/** Before a scraper gives up, it gets the last known values, when the database or the bus does not answer. */
const readTimeout = "2 seconds"

const make = Effect.gen(function* () {
  const teams = yield* Teams
  /** Read at each scrape and not kept in Effect's registry, which forgets nothing: a deleted team would stay forever. */
  let gauges: ReadonlyArray<MetricPair.MetricPair.Untyped> = []
  const readGauges = teams.list.pipe(
    Effect.timeout(readTimeout),
    Effect.match({
      onSuccess: (list) => {
        gauges = list.flatMap(gaugesOf)
      },
      onFailure: () => {}
    })
  )
  return Effect.map(Effect.zipRight(readGauges, Metric.snapshot), (pairs) =>
    HttpServerResponse.text(toText([...pairs, ...gauges]), { contentType: "text/plain; version=0.0.4; charset=utf-8" })
  )
})

export const layer = ReadOnlyRoute.layer("/metrics", make)
