/** The messages between the primary and its workers. */
import type { Failure } from "../../cli/Failure.ts"
import type { Family } from "../../http/operations/PrometheusText.ts"
import type { Started } from "../ServerProcess.ts"

/** The environment variable with the worker's number: 1, 2, … */
export const workerVariable = "WEBHOOK_TRIGGER_WORKER"

export type FromWorker =
  | { readonly _tag: "Ready"; readonly started: Started }
  /** The worker could not start and ends. */
  | { readonly _tag: "Failed"; readonly failure: Pick<Failure, "exit" | "title" | "detail" | "faults"> }
  /** The response to `Measure`. */
  | { readonly _tag: "Measured"; readonly request: number; readonly metrics: ReadonlyArray<Family> }
  /** A request for the metrics of all workers. */
  | { readonly _tag: "MeasureAll"; readonly request: number }

export type FromPrimary =
  | { readonly _tag: "Measure"; readonly request: number }
  | { readonly _tag: "MeasuredByAll"; readonly request: number; readonly metrics: ReadonlyArray<Family> }
