import { relative } from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { seeded } from "./Seeded.ts"
import { readTimes } from "./Times.ts"

/**
 * The longest files first, so that all workers end at about the same time. A file without a recorded time may be a long
 * one. `--sequence.shuffle --sequence.seed=1` orders them at random, and the tests in them.
 */
export class TestOrder extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const { seed, shuffle } = this.ctx.config.sequence
    const random = seeded(seed)
    const times = readTimes()
    const placeOf = ({ moduleId }: TestSpecification) =>
      shuffle ? random.next() : -(times[relative(this.ctx.config.root, moduleId)] ?? Number.POSITIVE_INFINITY)
    return files
      .map((file) => ({ file, place: placeOf(file) }))
      .toSorted((a, b) => a.place - b.place || a.file.moduleId.localeCompare(b.file.moduleId))
      .map(({ file }) => file)
  }
}
