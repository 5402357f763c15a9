import cluster from "node:cluster"
import { Deferred, Effect, type Scope } from "effect"
import { exitCodes, Failure } from "../../cli/Failure.ts"
import type { Started } from "../ServerProcess.ts"
import { type FromPrimary, type FromWorker, workerVariable } from "./WorkerMessages.ts"

/** A worker as its primary sees it. */
export interface WorkerProcess {
  /** Unique, also among workers that had the same number. */
  readonly id: number
  /** Fails when it could not start, with the reason. */
  readonly ready: Deferred.Deferred<Started, Failure>
  /** How it has ended, in words. */
  readonly ended: Deferred.Deferred<string>
  readonly send: (message: FromPrimary) => void
}

/** What a worker says while it serves. */
export type Report = Exclude<FromWorker, { readonly _tag: "Ready" | "Failed" }>

/**
 * The workers accept connections themselves, from one socket. If the primary handed them out, one on its way to a worker
 * that is killed would never be answered (docs/decisions/0017).
 */
cluster.schedulingPolicy = cluster.SCHED_NONE
// Structured clones instead of JSON: a measured value may be infinite.
cluster.setupPrimary({ serialization: "advanced" })

/** It did not say why itself; if it could, it has printed it. */
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
      // What can no longer be sent needs no answer.
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
    // One that could not be started has no exit; any other error, such as a message that cannot be sent, comes before it.
    child.on("error", (error) => child.process.pid === undefined && end(error.message))
    return { worker, child }
  })

/** Starts the worker of this number, which stops in order when the scope closes; `receive` gets what it reports. */
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
