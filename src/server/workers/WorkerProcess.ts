import cluster from "node:cluster"
import { Deferred, Effect, type Scope } from "effect"
import { exitCodes, Failure } from "../../cli/Failure.ts"
import type { Started } from "../ServerProcess.ts"
import { type FromPrimary, type FromWorker, workerVariable } from "./WorkerMessages.ts"

/** The primary's view of a worker. */
export interface WorkerProcess {
  /** Unique even among workers with the same number. */
  readonly id: number
  /** Fails if the worker cannot start. */
  readonly ready: Deferred.Deferred<Started, Failure>
  /** The exit code or signal in words. */
  readonly ended: Deferred.Deferred<string>
  readonly send: (message: FromPrimary) => void
}

/** The messages of a running worker. */
export type Report = Exclude<FromWorker, { readonly _tag: "Ready" | "Failed" }>

/**
 * Workers accept connections themselves, from one socket. If the primary distributed connections, one on its way to a
 * killed worker would never be answered (docs/decisions/0017).
 */
cluster.schedulingPolicy = cluster.SCHED_NONE
// Structured clones instead of JSON, because metrics may be infinite.
cluster.setupPrimary({ serialization: "advanced" })

/** The worker ended without a reason. It may have printed one. */
const endedEarly = (number: number, how: string, code: number) =>
  new Failure({
    exit: code || exitCodes.refused,
    title: "The server did not start",
    detail: `worker ${number} ended before it was ready (${how})`
  })

const fork = (number: number, receive: (worker: WorkerProcess, report: Report) => void) =>
  Effect.gen(function* () {
    const ready = yield* Deferred.make<Started, Failure>()
    const ended = yield* Deferred.make<string>()
    const child = cluster.fork({ [workerVariable]: number })
    const worker: WorkerProcess = {
      id: child.id,
      ready,
      ended,
      // A message to an ended worker is dropped.
      send: (message) => void (child.isConnected() && child.process.send(message, undefined, {}, () => {}))
    }
    child.on("message", (message: FromWorker) => {
      if (message._tag === "Ready") Deferred.unsafeDone(ready, Effect.succeed(message.started))
      else if (message._tag === "Failed") Deferred.unsafeDone(ready, Effect.fail(new Failure(message.failure)))
      else receive(worker, message)
    })
    const end = (how: string, code = 0) => {
      Deferred.unsafeDone(ready, Effect.fail(endedEarly(number, how, code)))
      Deferred.unsafeDone(ended, Effect.succeed(how))
    }
    child.once("exit", (code, signal) => {
      const how = signal ?? `exit code ${code}`
      // Its last messages may still be on their way.
      if (child.isConnected()) child.once("disconnect", () => end(how, code))
      else end(how, code)
    })
    // A process that cannot be started has no exit event. Other errors are followed by one.
    child.on("error", (error) => child.process.pid === undefined && end(error.message))
    return { worker, child }
  })

/** Starts a worker, which stops gracefully when the scope closes. `receive` gets its messages. */
export const start = (
  number: number,
  receive: (worker: WorkerProcess, report: Report) => void
): Effect.Effect<WorkerProcess, never, Scope.Scope> =>
  Effect.acquireRelease(fork(number, receive), ({ child, worker }) =>
    Effect.zipRight(
      Effect.sync(() => child.process.kill("SIGTERM")),
      Deferred.await(worker.ended)
    )
  ).pipe(Effect.map(({ worker }) => worker))
