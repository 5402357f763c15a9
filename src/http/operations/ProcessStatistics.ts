/** CPU time, memory and event loop of this process, under the names that Prometheus's client libraries use. */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks"
import { Metric } from "effect"
import type { Value } from "./Prometheus.ts"

const cpuSeconds = Metric.counter("process_cpu_seconds_total", { description: "User and system CPU time, in seconds." })
const residentMemory = Metric.gauge("process_resident_memory_bytes", { description: "Memory in use, in bytes." })
const heapUsed = Metric.gauge("nodejs_heap_size_used_bytes", { description: "Memory of JavaScript objects, in bytes." })
const timerDelay = Metric.gauge("nodejs_eventloop_lag_p99_seconds", {
  description: "The delay of timers in seconds, 99th percentile since the last reading."
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

export const read = (): ReadonlyArray<Value> => {
  const cpu = process.cpuUsage()
  const memory = process.memoryUsage()
  return [
    [cpuSeconds, (cpu.user + cpu.system) / 1e6],
    [residentMemory, memory.rss],
    [heapUsed, memory.heapUsed],
    [timerDelay, readDelay()]
  ]
}
