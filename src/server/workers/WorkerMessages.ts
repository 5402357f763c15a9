/** What the primary and its workers send each other. */
import type { Failure } from "../../cli/Failure.ts"
import type { Family } from "../../http/operations/PrometheusText.ts"
import type { Started } from "../ServerProcess.ts"

/** Tells a worker, in its environment, which of the workers it is: 1, 2, … */
export const workerVariable = "WEBHOOK_TRIGGER_WORKER"

export type FromWorker =
  | { readonly _tag: "Ready"; readonly started: Started }
  /** It could not start; it ends now. */
  | { readonly _tag: "Failed"; readonly failure: Pick<Failure, "exit" | "title" | "detail" | "faults"> }
  /** What it has measured, as asked for by `Measure`. */
  | { readonly _tag: "Measured"; readonly request: number; readonly metrics: ReadonlyArray<Family> }
  /** Asks what all workers have measured. */
  | { readonly _tag: "MeasureAll"; readonly request: number }

export type FromPrimary =
  | { readonly _tag: "Measure"; readonly request: number }
  | { readonly _tag: "MeasuredByAll"; readonly request: number; readonly metrics: ReadonlyArray<Family> }
