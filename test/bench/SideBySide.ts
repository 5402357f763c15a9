/**
 * Triggers that wait for the answer. All contenders run at the same time and are measured by turns of a few seconds, so
 * changes in the machine's speed affect all of them. A contender that is idle for a minute cools down, so each turn
 * begins with some seconds that do not count.
 */
import { type Contender, connections } from "./Contender.ts"
import { type Bench, type Figures, openStage, rateOf, type Stage, warmUp } from "./Measures.ts"

const warmManyCallers =
  ({ seconds }: Bench) =>
  ({ running, wait }: Stage) =>
    warmUp(seconds, (part) => wait([running.url, ...running.urls], connections, part))

const measureManyCallers =
  ({ seconds }: Bench) =>
  async ({ contender, running, wait }: Stage): Promise<Figures> => {
    await wait([running.url, ...running.urls], connections, seconds.warmAgain)
    const oneTeam = await wait([running.url], connections, seconds.waiting)
    const manyTeams =
      contender.waits === "many teams" ? await wait(running.urls, connections, seconds.waiting) : undefined
    return {
      oneTeamRate: rateOf(oneTeam.result),
      oneTeamServerCpu: oneTeam.serverCpu,
      oneTeamStoreCpu: oneTeam.storeCpu,
      oneTeamStatements: oneTeam.statements,
      manyTeamsRate: manyTeams && rateOf(manyTeams.result),
      manyTeamsServerCpu: manyTeams?.serverCpu,
      manyTeamsStoreCpu: manyTeams?.storeCpu,
      manyTeamsStatements: manyTeams?.statements
    }
  }

const warmOneCaller =
  ({ seconds }: Bench) =>
  ({ running, wait }: Stage) =>
    warmUp(seconds, (part) => wait([running.url], 1, part))

const measureOneCaller =
  ({ seconds }: Bench) =>
  async ({ running, wait }: Stage): Promise<Figures> => {
    await wait([running.url], 1, seconds.warmAgain)
    const { result, serverCpu, statements, storeCpu } = await wait([running.url], 1, seconds.alone)
    return { aloneP50: result.p50, aloneServerCpu: serverCpu, aloneStoreCpu: storeCpu, aloneStatements: statements }
  }

/** The figures of each round, for contenders with waiting callers. */
export const measureWaiting = async (
  contenders: ReadonlyArray<Contender>,
  bench: Bench,
  rounds: number
): Promise<ReadonlyMap<Contender, ReadonlyArray<Figures>>> => {
  const stages: Array<Stage> = []
  const figures = new Map<Contender, Array<Figures>>()
  /** Warms all of them up, then measures each once per round. */
  const alternate = async (
    name: string,
    warm: (stage: Stage) => Promise<void>,
    measure: (stage: Stage) => Promise<Figures>
  ) => {
    for (const stage of stages) {
      console.log(`${name}, warm-up: ${stage.contender.title}`)
      await stage.perform(warm)
    }
    for (let round = 0; round < rounds; round++) {
      console.log(`${name}, round ${round + 1} of ${rounds}`)
      for (const stage of stages) {
        const all = figures.get(stage.contender)!
        all[round] = { ...all[round], ...(await stage.perform(measure)) }
      }
    }
  }
  try {
    for (const contender of contenders.filter(({ waits }) => waits !== "no")) {
      stages.push(await openStage(contender, bench))
      figures.set(contender, [])
    }
    await alternate(`${connections} waiting callers`, warmManyCallers(bench), measureManyCallers(bench))
    await alternate("one waiting caller", warmOneCaller(bench), measureOneCaller(bench))
    return figures
  } finally {
    await Promise.all(stages.map(({ close }) => close()))
  }
}
