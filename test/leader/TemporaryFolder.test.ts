import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import * as TemporaryFolder from "../../src/leader/TemporaryFolder.ts"
import { describe, expect, it } from "../support/It.ts"

describe("a temporary folder", () => {
  it.effect("is this process's own, and is removed with its scope", function* () {
    const folder = yield* Effect.scoped(
      Effect.map(TemporaryFolder.make("webhook-files-"), (folder) => {
        expect(statSync(folder).mode & 0o777).toBe(0o700)
        return folder
      })
    )
    expect(existsSync(folder)).toBe(false)
  })

  it.effect(
    "that a killed process has left is removed at the next start, whatever it was for; no others",
    function* () {
      const own = yield* TemporaryFolder.make("webhook-files-")
      const mine = JSON.parse(readFileSync(join(own, "lock"), "utf8"))
      const folderWith = (prefix: string, lock?: object) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const folder = mkdtempSync(join(tmpdir(), prefix))
            writeFileSync(join(folder, "invoice.pdf"), "of a caller")
            if (lock !== undefined) writeFileSync(join(folder, "lock"), JSON.stringify(lock))
            return folder
          }),
          (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
        )
      const killed = { ...mine, born: "earlier" }
      const left = yield* Effect.all(
        ["webhook-files-", "webhook-tools-", "webhook-schema-"].map((prefix) => folderWith(prefix, killed))
      )
      const others = yield* Effect.all([
        folderWith("webhook-files-", mine),
        folderWith("webhook-files-", { ...killed, system: "another container" }),
        folderWith("webhook-files-"),
        folderWith("webhook-other-", killed)
      ])
      yield* TemporaryFolder.removeLeft
      expect(left.map(existsSync)).toEqual([false, false, false])
      expect(others.map(existsSync)).toEqual([true, true, true, true])
      expect(existsSync(own)).toBe(true)
    }
  )
})
