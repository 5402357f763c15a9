import { Stopwatch } from "./Stopwatch.ts"

/** Milliseconds between two readings. */
const interval = 100

/** Reports how much time there was for work between two moments, by a shared `Stopwatch`. */
export class FairClock {
  private readonly watch = new Stopwatch({ shared: true })
  private readonly begunAt = performance.now()
  /** The stopwatch's value at each reading. */
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

  /** The milliseconds between two times of `performance.now()`, at most those that the clock shows. */
  between = (from: number, to: number): number => Math.min(to - from, this.at(to) - this.at(from))

  stop(): void {
    clearInterval(this.timer)
    this.watch.stop()
  }
}
