import { createServer } from "node:http"
import { given } from "./Given.ts"

/** What a program has done since it was started. */
export interface Counts {
  /** Runs that are stored. */
  readonly rows?: number
  /** Those whose end is stored. */
  readonly ended?: number
  /** Prompts that a leader has received. */
  readonly prompts?: number
}

/** Answers every request with the counts. Called when the program is ready: that it listens says so. */
export const listenForControl = (counts: () => Counts | Promise<Counts>): void => {
  createServer(async (_, response) => response.end(JSON.stringify(await counts()))).listen(
    given.controlPort,
    "127.0.0.1"
  )
}
