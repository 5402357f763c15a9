import { createServer } from "node:http"
import { given } from "./Given.ts"

/** Counts of a program's work since its start. */
export interface Counts {
  /** Runs that are stored. */
  readonly rows?: number
  /** Runs with a stored end. */
  readonly ended?: number
  /** Prompts that a leader has received. */
  readonly prompts?: number
}

/** Answers every request with the counts. Called once the program is ready, so listening means readiness. */
export const listenForControl = (counts: () => Counts | Promise<Counts>): void => {
  createServer(async (_, response) => response.end(JSON.stringify(await counts()))).listen(
    given.controlPort,
    "127.0.0.1"
  )
}
