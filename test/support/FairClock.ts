import { Stopwatch } from "./Stopwatch.ts"

/** Milliseconds between two readings. */
const interval = 100

/** Tells afterwards how much time there was for work between two moments, as a shared `Stopwatch` counts it. */
export class FairClock {
  private readonly watch = new Stopwatch({ shared: true })
  private readonly begunAt = performance.now()
  /** What the stopwatch said at each reading. */
  private readonly readings: Array<number> = []
  private readonly timer = setInterval(() => this.read(), interval)

  private read(): void {
    const due = Math.floor((performance.now() - this.begunAt) / interval)
    const elapsed = this.watch.elapsed
    while (this.readings.length <= due) this.readings.push(elapsed)
  }

  private at(moment: number): number {
    const index = Math.floor((moment - this.begunAt) / interval)
    return this.readings[Math.max(0, Math.min(index, this.readings.length - 1))] ?? 0
  }

  /** The milliseconds between two times of `performance.now()`, at most as many as the clock shows. */
  between = (from: number, to: number): number => Math.min(to - from, this.at(to) - this.at(from))

  stop(): void {
    clearInterval(this.timer)
    this.watch.stop()
  }
}
