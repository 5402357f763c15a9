import { relative } from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { readTimes } from "./Times.ts"

/**
 * The longest files first, so that all workers end at about the same time. A file without a recorded time may be a long
 * one.
 */
export class TestOrder extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    if (this.ctx.config.sequence.shuffle) return super.sort(files)
    const times = readTimes()
    const timeOf = ({ moduleId }: TestSpecification) =>
      times[relative(this.ctx.config.root, moduleId)] ?? Number.POSITIVE_INFINITY
    const order = (a: TestSpecification, b: TestSpecification) =>
      timeOf(a) === timeOf(b) ? a.moduleId.localeCompare(b.moduleId) : timeOf(b) - timeOf(a)
    return files.toSorted(order)
  }
}
