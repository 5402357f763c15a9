#!/usr/bin/env node
import { readFileSync } from "node:fs"
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import * as Cli from "./cli/Cli.ts"

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }

/** The server and the leader are loaded only when they are asked for: the other commands answer faster. */
const here = {
  serve: () => Effect.void,
  leader: () => Effect.void
}

Cli.run(process.argv.slice(2), version, here).pipe(
  Effect.tap((code) => Effect.sync(() => (process.exitCode = code))),
  runMain
)
