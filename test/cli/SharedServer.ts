/** A server for all tests of a file, and commands that speak to it. */
import { afterAll, beforeAll, expect } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { runWith } from "./CommandLine.ts"
import * as Program from "./Program.ts"

export const ADMIN_API_KEY = "a-key-for-these-tests"

export const sharedServer = () => {
  const scope = Effect.runSync(Scope.make())
  let server: Program.Server

  beforeAll(async () => {
    const start = Effect.flatMap(Program.newFolder, (DATA_DIR) =>
      Program.serve({ DATA_DIR, ADMIN_API_KEY, WEBHOOK_TIMEOUT: "2" })
    )
    server = await Effect.runPromise(Scope.extend(start, scope))
  }, 60_000)
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  const run = (...words: ReadonlyArray<string>) => runWith({ ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: server.url }, ...words)

  /** The JSON document on standard output, which holds nothing else. */
  const json = (...words: ReadonlyArray<string>) =>
    Effect.map(run(...words, "--json"), ({ code, stderr, stdout }) => {
      expect({ code, stderr }, words.join(" ")).toEqual({ code: 0, stderr: "" })
      return JSON.parse(stdout)
    })

  return { run, json, address: () => server.url }
}
