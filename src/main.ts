#!/usr/bin/env node
import { readFileSync } from "node:fs"
import { constants } from "node:os"
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Cause, Effect } from "effect"
import * as Cli from "./cli/Cli.ts"
import type { LocalCommands } from "./cli/LocalCommands.ts"
import { killGroups, stop } from "./runtime/Processes.ts"

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }

/** A signal is how these two are stopped, so that is a success for them; every other command was cut short by it. */
let isStoppedBySignal = false

/** The server and the leader are loaded only when they are run: the other commands start faster. */
const local: LocalCommands = {
  serve: (overrides) =>
    Effect.flatMap(
      load(() => import("./server/Serve.ts")),
      ({ serve }) => serve(overrides, version)
    ),
  leader: (options) =>
    Effect.flatMap(
      load(() => import("./server/Lead.ts")),
      ({ lead }) => lead(options, version)
    ),
  doctor: (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./server/doctor/Doctor.ts")),
      ({ examine }) => examine(options)
    ),
  supportBundle: (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./server/support/SupportBundle.ts")),
      ({ write }) => write(options, version)
    )
}

const load = <A>(module: () => Promise<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    isStoppedBySignal = true
    return Effect.promise(module)
  })

const signals = ["SIGINT", "SIGTERM"] as const
type Signal = (typeof signals)[number]

/**
 * A terminal and some process managers send a signal to all processes of a group, and `npm` forwards the signals it gets.
 * Within this time, in milliseconds, another signal counts as the first one.
 */
const sameSignal = 1_000

let mayBeSame = true

/** `runMain` interrupts at the first signal. A later one ends the process immediately, as if there were no handler. */
const onSignal = (name: Signal): void => {
  if (stop.signal === undefined) {
    stop.signal = name
    // Signals that came while the event loop was busy are delivered between the timer and the immediate.
    setTimeout(() => setImmediate(() => (mayBeSame = false)), sameSignal).unref()
  } else if (!mayBeSame) {
    killGroups()
    // Also that of `runMain`.
    for (const each of signals) process.removeAllListeners(each)
    process.kill(process.pid, name)
  }
}
for (const name of signals) process.on(name, onSignal)

/** As shells report the end of a program by a signal. */
const interrupted = (): number =>
  stop.signal === undefined || isStoppedBySignal ? 0 : 128 + constants.signals[stop.signal]

Cli.run(process.argv.slice(2), version, local).pipe(
  Effect.catchCause((cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.failCause(cause)
      : Effect.sync(() => {
          console.error(Cause.pretty(cause))
          return 70
        })
  ),
  Effect.tap((code) => Effect.sync(() => (process.exitCode = code))),
  runMain({
    disableErrorReporting: true,
    // Without a signal the process ends by itself, once its output is written.
    teardown: (_, end) => end(stop.signal === undefined ? 0 : Number(process.exitCode ?? interrupted()))
  })
)
