import { describe, expect, it } from "@effect/vitest"
import { sum, Totals } from "../../../src/http/operations/PrometheusSum.ts"
import { type Family, toText } from "../../../src/http/operations/PrometheusText.ts"

describe("metrics of several processes", () => {
  const counter = (samples: Family["samples"]): Family => ({ name: "a_total", type: "counter", samples })

  const gauge = (value: number): Family => ({ name: "b", type: "gauge", samples: [["b", value]] })

  it("are added up, series by series", () => {
    const histogram: Family = {
      name: "c_seconds",
      help: "Durations",
      type: "histogram",
      samples: [
        ['c_seconds_bucket{le="1"}', 1],
        ['c_seconds_bucket{le="+Inf"}', 2],
        ["c_seconds_sum", 3.5],
        ["c_seconds_count", 2]
      ]
    }
    const first = [counter([['a_total{l="x"}', 1]]), gauge(2), histogram]
    const second = [
      histogram,
      gauge(3),
      counter([
        ['a_total{l="y"}', 4],
        ['a_total{l="x"}', 5]
      ])
    ]
    expect(toText(sum([first, second]))).toBe(
      [
        "# TYPE a_total counter",
        'a_total{l="x"} 6',
        'a_total{l="y"} 4',
        "# TYPE b gauge",
        "b 5",
        "# HELP c_seconds Durations",
        "# TYPE c_seconds histogram",
        'c_seconds_bucket{le="1"} 2',
        'c_seconds_bucket{le="+Inf"} 4',
        "c_seconds_sum 7",
        "c_seconds_count 4",
        ""
      ].join("\n")
    )
  })

  it("have sum and count of a summary, and no quantiles", () => {
    const summary: Family = {
      name: "s",
      type: "summary",
      samples: [
        ['s{l="x",quantile="0.5"}', 9],
        ['s_sum{l="x"}', 10],
        ['s_count{l="x"}', 2]
      ]
    }
    expect(sum([[summary], [summary]])).toStrictEqual([
      {
        ...summary,
        samples: [
          ['s_sum{l="x"}', 20],
          ['s_count{l="x"}', 4]
        ]
      }
    ])
  })

  it("keep what an ended process has counted, and not its gauges", () => {
    const totals = new Totals()
    totals.set(1, [counter([["a_total", 1]]), gauge(7)])
    totals.set(2, [counter([["a_total", 10]]), gauge(1)])
    totals.set(1, [counter([["a_total", 2]]), gauge(5)])
    expect(totals.total()).toStrictEqual([counter([["a_total", 12]]), gauge(6)])
    totals.end(1)
    expect(totals.total()).toStrictEqual([counter([["a_total", 12]]), gauge(1)])
    totals.end(2)
    totals.set(3, [gauge(4), counter([["a_total", 1]])])
    expect(totals.total()).toStrictEqual([counter([["a_total", 13]]), gauge(4)])
  })
})
