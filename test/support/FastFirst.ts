import { BaseSequencer, type TestSpecification } from "vitest/node"

/** What breaks things takes minutes, and the longest of it first, so that two workers end at about the same time. */
const slowest = ["random", "frozen", "broker", "replicas", "callers", "crash", "leader", "database"]

const place = ({ moduleId }: TestSpecification): number => {
  if (!moduleId.includes("/test/faults/")) return -1
  return slowest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
}

/** The fast suites first: most mistakes show within a minute. */
export class FastFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}
