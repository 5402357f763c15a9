import { Deferred, Effect } from "effect"
import { Totals } from "../../http/operations/PrometheusSum.ts"
import type { Family } from "../../http/operations/PrometheusText.ts"
import type { WorkerProcess } from "./WorkerProcess.ts"

/** After this time a worker's previous metrics are used. */
const workerTimeout = "2 seconds"

/** The metrics of all workers, including ended ones. */
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

  set({ id }: WorkerProcess, request: number, metrics: ReadonlyArray<Family>): void {
    if (!this.serving.has(id)) return
    this.totals.set(id, metrics)
    this.asked.get(request)?.()
  }

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
