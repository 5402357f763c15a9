import { Deferred, Effect } from "effect"
import { Totals } from "../../http/operations/PrometheusSum.ts"
import type { Family } from "../../http/operations/PrometheusText.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"

/** A worker that does not answer within this time counts with what it said last. */
const workerTimeout = "2 seconds"

/** What the workers of a server have measured, those included that have ended. */
export class WorkerMetrics {
  private readonly totals = new Totals()
  private readonly serving = new Map<number, WorkerProcess>()
  private readonly asked = new Map<number, () => void>()
  private requests = 0

  add(worker: WorkerProcess): void {
    this.serving.set(worker.id, worker)
  }

  remove({ id }: WorkerProcess): void {
    this.serving.delete(id)
    this.totals.end(id)
  }

  /** A worker's answer. */
  set({ id }: WorkerProcess, request: number, metrics: ReadonlyArray<Family>): void {
    if (!this.serving.has(id)) return
    this.totals.set(id, metrics)
    this.asked.get(request)?.()
  }

  /** Asks all workers that serve. */
  readonly all: Effect.Effect<ReadonlyArray<Family>> = Effect.suspend(() =>
    Effect.forEach(this.serving.values(), (worker) => this.ask(worker), { concurrency: "unbounded", discard: true })
  ).pipe(Effect.map(() => this.totals.total()))

  private ask(worker: WorkerProcess): Effect.Effect<void> {
    const request = ++this.requests
    return Effect.async<void>((resume) => {
      this.asked.set(request, () => resume(Effect.void))
      worker.send({ _tag: "Measure", request })
    }).pipe(
      Effect.raceFirst(Deferred.await(worker.ended)),
      Effect.timeout(workerTimeout),
      Effect.ignore,
      Effect.ensuring(Effect.sync(() => this.asked.delete(request)))
    )
  }
}
