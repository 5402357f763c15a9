/** One contender's turn on new processes: its start, and triggers that do not wait. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Contender } from "./Contender.ts"
import { type Bench, type Figures, openStage, rateOf, type Stage, warmUp } from "./Measures.ts"
import { memoryMegabytes } from "./Usage.ts"

/** After this time, a process that was compiled and has sent its first notifications is idle. */
const idleAfter = 1000

const measure =
  ({ seconds }: Bench) =>
  async ({ accept, backlog, contender, running }: Stage): Promise<Figures> => {
    await sleep(idleAfter)
    const figures: Figures = { startSeconds: running.startSeconds, idleMemory: memoryMegabytes(running.pid) }
    if (!contender.accepts) return figures
    const publishesFirst = contender.publishesFirst === true
    await warmUp(seconds, (part) => accept(part, publishesFirst))
    const { published, result, serverCpu, storeCpu } = await accept(seconds.accepting, publishesFirst)
    return {
      ...figures,
      acceptedRate: rateOf(result),
      acceptedP50: result.p50,
      acceptedP99: result.p99,
      acceptedServerCpu: serverCpu,
      acceptedStoreCpu: storeCpu,
      publishedRate: published,
      backlogRate: publishesFirst ? undefined : await backlog(seconds.backlog)
    }
  }

export const takeTurn = async (contender: Contender, bench: Bench): Promise<Figures> => {
  const stage = await openStage(contender, bench)
  try {
    return await stage.perform(measure(bench))
  } finally {
    await stage.close()
  }
}
