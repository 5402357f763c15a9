/** A server for all tests of a file, and commands that speak to it. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { type Server, serve } from "../support/InProcess.ts"
import { shared } from "../support/Shared.ts"
import { runWith } from "./CommandLine.ts"
import { newFolder } from "./Program.ts"

export const ADMIN_API_KEY = "a-key-for-these-tests"

type Variables = Readonly<Record<string, string>>

interface Options {
  /** Of the server, besides the defaults; what they need lives as long as the server. */
  readonly settings?: Variables | Effect.Effect<Variables, never, Scope.Scope>
  /** Of each command. */
  readonly variables?: Variables
}

export const sharedServer = ({ settings = {}, variables }: Options = {}) => {
  let server: Server
  let folder: string
  shared(
    Effect.gen(function* () {
      folder = yield* newFolder
      mkdirSync(folder)
      server = yield* serve({ ADMIN_API_KEY, ...(Effect.isEffect(settings) ? yield* settings : settings) })
    })
  )

  const runAt = (more: Variables, ...words: ReadonlyArray<string>) =>
    runWith({ ADMIN_API_KEY, WEBHOOK_TRIGGER_URL: server.url, ...more }, ...words)
  const run = (...words: ReadonlyArray<string>) => runAt(variables ?? {}, ...words)

  /** The JSON document on standard output, which holds nothing else. */
  const json = (...words: ReadonlyArray<string>) =>
    Effect.map(run(...words, "--json"), ({ code, stderr, stdout }) => {
      expect({ code, stderr }, words.join(" ")).toEqual({ code: 0, stderr: "" })
      return JSON.parse(stdout)
    })

  /** Writes a file of the tests. Returns its path. */
  const file = (name: string, ...lines: ReadonlyArray<string>): string => {
    const path = join(folder, name)
    writeFileSync(path, `${lines.join("\n")}\n`)
    return path
  }

  return { run, runAt, json, file, address: () => server.url, folder: () => folder }
}
