/**
 * The primary of a server with several workers. It starts them, replaces ended ones and adds up their metrics. Each worker
 * serves like a replica, on the same port.
 */
import { Array as Arr, Deferred, Effect, FiberSet, Schedule, type Scope } from "effect"
import { describe, type Failure } from "../../cli/Failure.ts"
import { print } from "../../cli/Output.ts"
import { rememberingInterruption } from "../../runtime/Interruption.ts"
import type { PrimaryEnvironment } from "../environment/PrimaryEnvironment.ts"
import * as Logs from "../Logs.ts"
import type { Started } from "../ServerProcess.ts"
import { WorkerMetrics } from "./WorkerMetrics.ts"
import * as WorkerProcess from "./WorkerProcess.ts"

/** The delay before another restart. The first restart is immediate. */
const backOff = Schedule.exponential("100 millis").pipe(
  Schedule.either(Schedule.spaced("10 seconds")),
  Schedule.resetAfter("1 minute")
)

/** Runs a worker from its start to its end. */
type Life = (number: number, onReady: (started: Started) => Effect.Effect<unknown>) => Effect.Effect<void, Failure>

const makeLife: Effect.Effect<Life, never, Scope.Scope> = Effect.gen(function* () {
  const metrics = new WorkerMetrics()
  const runFork = yield* FiberSet.makeRuntime<never>()
  const receive = (worker: WorkerProcess.WorkerProcess, report: WorkerProcess.Report) => {
    const { request } = report
    if (report._tag === "Measured") metrics.set(worker, request, report.metrics)
    else runFork(Effect.map(metrics.all, (metrics) => worker.send({ _tag: "MeasuredByAll", request, metrics })))
  }
  return (number, onReady) =>
    Effect.gen(function* () {
      const worker = yield* WorkerProcess.start(number, receive)
      const started = yield* Deferred.await(worker.ready)
      metrics.add(worker)
      // Outside this scope, because a stopping worker still sends metrics.
      runFork(Effect.map(Deferred.await(worker.ended), () => metrics.remove(worker)))
      yield* onReady(started)
      const how = yield* Deferred.await(worker.ended)
      yield* Effect.logWarning(`Worker ${number} ended (${how}) and is being restarted`)
    }).pipe(Effect.scoped)
})

/**
 * Runs the workers until it is interrupted. The first worker starts alone, because it prepares the database and checks the
 * settings. If a worker fails at its first start, the server ends; later it is restarted.
 */
export const run = (environment: PrimaryEnvironment): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const life = yield* makeLife
    const [first, ...others] = yield* Effect.forEach(Arr.range(1, environment.workers), (number) =>
      Effect.map(Deferred.make<Started>(), (started) => ({ number, started }))
    )
    type Place = typeof first
    const again = (number: number) =>
      life(number, () => Effect.logInfo(`Worker ${number} is ready again`)).pipe(
        Effect.catchTag("CliFailure", (failure) => Effect.logError(`Worker ${number}: ${describe(failure)}`)),
        Effect.repeat(backOff)
      )
    const keep = ({ number, started }: Place) =>
      Effect.zipRight(
        life(number, (ready) => Deferred.succeed(started, ready)),
        again(number)
      )
    const announce = Effect.gen(function* () {
      const { address, welcome } = yield* Deferred.await(first.started)
      yield* Effect.forEach(others, ({ started }) => Deferred.await(started))
      yield* print(welcome)
      yield* Effect.logInfo(`Listening on ${address} with ${environment.workers} workers`)
    })
    const keepOther = (place: Place) => Effect.zipRight(Deferred.await(first.started), keep(place))
    yield* Effect.all([announce, keep(first), ...others.map(keepOther)], { concurrency: "unbounded", discard: true })
  }).pipe(Effect.scoped, rememberingInterruption, Effect.provide(Logs.layer(environment)))
