/** Folders for temporary files, each of one process. What a killed process has left is removed by the next one. */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import * as Lock from "./workspace/Lock.ts"

/** The beginnings of their names. */
const prefixes = ["webhook-tools-", "webhook-files-", "webhook-schema-"] as const

/**
 * Removes the folders of processes that were killed. One of another user's could be changed while it is removed, and reading a
 * pipe in it would hold up the leader forever.
 */
export const removeLeft: Effect.Effect<void> = Effect.ignore(
  Effect.try(() => {
    for (const name of readdirSync(tmpdir())) {
      if (!prefixes.some((prefix) => name.startsWith(prefix))) continue
      const folder = join(tmpdir(), name)
      const found = lstatSync(folder, { throwIfNoEntry: false })
      if (!found?.isDirectory() || found.uid !== process.geteuid?.()) continue
      if (Lock.isLeft(folder)) rmSync(folder, { recursive: true, force: true })
    }
  })
)

/** A new one, until the scope closes. Only this process's user may enter it. Fails with the system's error. */
export const make = (prefix: (typeof prefixes)[number]): Effect.Effect<string, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    yield* removeLeft
    const folder = yield* Effect.acquireRelease(
      Effect.try({ try: () => mkdtempSync(join(tmpdir(), prefix)), catch: (error) => error }),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    )
    yield* Effect.try({ try: () => Lock.mark(folder), catch: (error) => error })
    return folder
  })
