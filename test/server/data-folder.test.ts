import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Program from "../cli/Program.ts"
import { describe, expect, it } from "../support/It.ts"

describe("a data folder that cannot be used", () => {
  it.live("stops the start with one line that names DATA_DIR and what it must be", function* () {
    const folder = dirname(yield* Program.newFolder)
    const file = join(folder, "file")
    writeFileSync(file, "")
    const locked = join(folder, "locked")
    mkdirSync(join(locked, "lock"), { recursive: true })
    const broken = join(folder, "broken")
    mkdirSync(join(broken, "database"), { recursive: true })
    writeFileSync(join(broken, "database", "PG_VERSION"), "17")
    // Not even root may create a folder in the last one.
    for (const DATA_DIR of [file, join(file, "below"), locked, broken, "/sys/webhook-trigger"]) {
      const { code, stderr, stdout } = yield* Program.run(["serve"], { DATA_DIR, PORT: "0" })
      expect({ code, stdout }, DATA_DIR).toEqual({ code: 2, stdout: "" })
      expect(stderr).toMatch(/^The server did not start: DATA_DIR or --data-dir must be a folder .*\n$/)
      expect(stderr).toContain(DATA_DIR)
    }
  })
})
