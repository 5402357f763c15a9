import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The fault tests by duration, the longest first, so that two workers end at about the same time. */
const slowest = [
  ...["broker", "replicas", "random", "workers", "replay", "hoarded", "callers", "frozen", "database"],
  ...["crash", "cancel", "rights", "leader"]
]

const place = ({ moduleId }: TestSpecification): number => {
  if (!moduleId.includes("/test/faults/")) return -1
  return slowest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
}

/** All other tests before the fault tests, which take minutes: most mistakes show early. */
export class FastFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}
