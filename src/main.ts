#!/usr/bin/env node
import { readFileSync } from "node:fs"
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Cause, Effect } from "effect"
import * as Cli from "./cli/Cli.ts"
import type { LocalCommands } from "./cli/LocalCommands.ts"

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }

/** The server and the leader are loaded only when they are run: the other commands start faster. */
const local: LocalCommands = {
  serve: (overrides) =>
    Effect.flatMap(
      Effect.promise(() => import("./server/Serve.ts")),
      ({ serve }) => serve(overrides, version)
    ),
  leader: (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./server/Lead.ts")),
      ({ lead }) => lead(options, version)
    )
}

// `runMain` interrupts at the first SIGINT or SIGTERM; the second one ends the process immediately.
Cli.run(process.argv.slice(2), version, local).pipe(
  Effect.catchAllCause((cause) =>
    Cause.isInterruptedOnly(cause)
      ? Effect.failCause(cause)
      : Effect.sync(() => {
          console.error(Cause.pretty(cause))
          return 70
        })
  ),
  Effect.tap((code) => Effect.sync(() => (process.exitCode = code))),
  runMain({ disableErrorReporting: true, disablePrettyLogger: true })
)
