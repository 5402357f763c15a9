import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The longest fault tests; the other fault tests follow these. */
const longestFaults = [
  ...["callers", "broker", "database", "replicas", "hoarded", "random", "workers", "frozen", "cancel", "replay"],
  ...["rights", "crash", "leader", "lost", "restore", "pause"]
]

/** Other files that take long for their size, by which Vitest orders them. */
const longerThanTheyLook = [
  ...[
    "package/embedding",
    "repo/sql/RepoSql.pglite",
    "ui/frame/accessibility",
    "server/telemetry",
    "bus/amqp/BusAmqp",
    "workers/workers"
  ],
  ...[
    "flow/main-job",
    "repo/sql/RepoSql.postgres",
    "server/listener",
    "webhook/refused",
    "flow/embedded",
    "ui/frame/lifecycle"
  ]
]

const isFault = ({ moduleId }: TestSpecification): boolean => moduleId.includes("/test/faults/")

/** Those on the list first, in its order; the others unchanged. */
const first = (
  files: ReadonlyArray<TestSpecification>,
  list: ReadonlyArray<string>
): ReadonlyArray<TestSpecification> => {
  const place = ({ moduleId }: TestSpecification) => {
    const found = list.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
    return found === -1 ? list.length : found
  }
  return files.toSorted((a, b) => place(a) - place(b))
}

/**
 * Long files first, so that all workers end at about the same time. The fault tests, which wait for a third of their
 * time, are spread among those that compute.
 */
export class TestOrder extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    const faults = first(sorted.filter(isFault), longestFaults)
    const others = first(
      sorted.filter((file) => !isFault(file)),
      longerThanTheyLook
    )
    const share = faults.length / files.length
    const order: Array<TestSpecification> = []
    let [fault, other] = [0, 0]
    while (order.length < files.length) {
      const isTurnOfFault = other === others.length || (fault < faults.length && fault <= order.length * share)
      order.push(isTurnOfFault ? faults[fault++]! : others[other++]!)
    }
    return order
  }
}
