/** CPU time, memory and event loop of this process, under the names that Prometheus's client libraries use. */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks"
import { Effect } from "effect"
import type { Family } from "./PrometheusText.ts"

const gauge = (name: string, help: string, value: number): Family => ({
  name,
  help,
  type: "gauge",
  samples: [[name, value]]
})

/** In milliseconds. */
const resolution = 10

/** Measures from the first reading on, so a program without a scraper has no timer for it. */
let delays: IntervalHistogram | undefined

/** Since the last reading. What a timer is late beyond its resolution is the work of others. */
const readDelay = (): number => {
  if (delays === undefined) {
    delays = monitorEventLoopDelay({ resolution })
    delays.enable()
    return 0
  }
  const seconds = Number.isNaN(delays.mean) ? 0 : delays.percentile(99) / 1e9
  delays.reset()
  return Math.max(0, seconds - resolution / 1000)
}

export const processStatistics: Effect.Effect<ReadonlyArray<Family>> = Effect.sync(() => {
  const cpu = process.cpuUsage()
  const memory = process.memoryUsage()
  return [
    {
      name: "process_cpu_seconds_total",
      help: "User and system CPU time, in seconds.",
      type: "counter",
      samples: [["process_cpu_seconds_total", (cpu.user + cpu.system) / 1e6]]
    },
    gauge("process_resident_memory_bytes", "Memory in use, in bytes.", memory.rss),
    gauge("nodejs_heap_size_used_bytes", "Memory of JavaScript objects, in bytes.", memory.heapUsed),
    gauge(
      "nodejs_eventloop_lag_p99_seconds",
      "The delay of timers in seconds, 99th percentile since the last reading.",
      readDelay()
    )
  ]
})
