/** The worker's side of the messages between it and the primary. */
import { Effect } from "effect"
import { constVoid } from "effect/Function"
import type { Failure } from "../../cli/Failure.ts"
import { Unavailable } from "../../domain/Errors.ts"
import * as Prometheus from "../../http/operations/Prometheus.ts"
import type { Family } from "../../http/operations/PrometheusText.ts"
import * as ServerProcess from "../ServerProcess.ts"
import type { FromPrimary, FromWorker } from "./WorkerMessages.ts"

/** Resolves when the message is sent. */
const send = (message: FromWorker): Effect.Effect<void> =>
  Effect.async((resume) => void process.send?.(message, undefined, {}, () => resume(Effect.void)))

/** Longer than the primary waits for its workers. */
const primaryTimeout = "4 seconds"

const noAnswer = new Unavailable({ what: "server", detail: "The primary process did not answer." })

/** Answers the primary's requests for metrics, and requests the metrics of all workers. */
const makeMetrics = Effect.sync(() => {
  let requests = 0
  const asked = new Map<number, (metrics: ReadonlyArray<Family>) => void>()
  const answer = (request: number) =>
    Effect.flatMap(Prometheus.ofProcess, (metrics) => send({ _tag: "Measured", request, metrics }))
  process.on("message", (message: FromPrimary) => {
    if (message._tag === "Measure") Effect.runFork(answer(message.request))
    if (message._tag === "MeasuredByAll") asked.get(message.request)?.(message.metrics)
  })
  const all = Effect.suspend(() => {
    const request = ++requests
    return Effect.async<ReadonlyArray<Family>>((resume) => {
      asked.set(request, (metrics) => resume(Effect.succeed(metrics)))
      Effect.runFork(send({ _tag: "MeasureAll", request }))
    }).pipe(
      Effect.timeoutFail({ duration: primaryTimeout, onTimeout: () => noAnswer }),
      Effect.ensuring(Effect.sync(() => asked.delete(request)))
    )
  })
  return { all }
})

/**
 * A terminal or a process manager may signal the primary and all workers, and the primary signals the workers too. So a
 * second signal must not end the worker immediately. If the primary ends, Node ends the worker.
 */
const ignoreRepeatedSignals = Effect.sync(() => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, constVoid)
})

/** The primary reports the failure, once for all workers. */
const report = ({ detail, exit, faults, title }: Failure): Effect.Effect<never> =>
  Effect.zipRight(
    send({ _tag: "Failed", failure: { exit, title, ...(detail && { detail }), ...(faults && { faults }) } }),
    Effect.sync(() => process.exit(exit))
  )

/** Serves until a signal arrives. */
export const run = (number: number, version: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* ignoreRepeatedSignals
    const metrics = yield* makeMetrics
    // Otherwise the open channel would keep a failed worker alive.
    process.channel?.unref()
    yield* ServerProcess.run(version, (started) => send({ _tag: "Ready", started })).pipe(
      Effect.provideService(Prometheus.ProcessMetrics, metrics)
    )
  }).pipe(Effect.catchTag("CliFailure", report), Effect.annotateLogs("worker", number))
