/**
 * How long each test file takes, recorded in `times.json` for `TestOrder`. A reporter that records the times of a run:
 * `npm test -- --reporter=default --reporter=./test/support/Times.ts`
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import type { Reporter, TestModule, Vitest } from "vitest/node"

/** Seconds by the file's path in the repository. */
type Times = Readonly<Record<string, number>>

const file = fileURLToPath(new URL("times.json", import.meta.url))

export const readTimes = (): Times => JSON.parse(readFileSync(file, "utf8"))

export default class RecordTimes implements Reporter {
  private root = ""

  onInit(vitest: Vitest): void {
    this.root = vitest.config.root
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const measured = modules.map((module) => {
      const { collectDuration, duration } = module.diagnostic()
      return [relative(this.root, module.moduleId), Math.round((collectDuration + duration) / 1000)] as const
    })
    const others = Object.entries(readTimes()).filter(([path]) => existsSync(path))
    const times = Object.fromEntries([...others, ...measured].toSorted(([a], [b]) => a.localeCompare(b)))
    writeFileSync(file, `${JSON.stringify(times, undefined, 2)}\n`)
  }
}
