/** One contender's turn: everything that is measured of it, on servers that are new. */
import { setTimeout as sleep } from "node:timers/promises"
import { checkAccepted, checkAnswers, checkWaited, untilAccepted, untilIdle } from "./Checks.ts"
import { type Contender, connections, type Running } from "./Contender.ts"
import type { Load, LoadResult } from "./Load.ts"
import type { Seconds } from "./Options.ts"
import { openPlace } from "./Place.ts"
import { countStatements, type Services } from "./Services.ts"
import { cpuMillis, memoryMegabytes } from "./Usage.ts"

/** Milliseconds, seconds, MB, or so many a second, as `Report.ts` says; absent where it does not apply. */
export type Figures = { readonly [Name in FigureName]?: number | undefined }

export type FigureName =
  | "startSeconds"
  | "idleMemory"
  | "acceptedRate"
  | "acceptedP50"
  | "acceptedP99"
  | "publishedRate"
  | "backlogRate"
  | "aloneP50"
  | "oneTeamRate"
  | "manyTeamsRate"
  | "aloneServerCpu"
  | "aloneStoreCpu"
  | "aloneStatements"
  | "loadServerCpu"
  | "loadStoreCpu"
  | "loadStatements"

export interface Bench {
  readonly services: Services
  readonly load: Load
  readonly seconds: Seconds
}

/** A process that is compiled and has sent its first notifications is idle after that. */
const idleAfter = 1000

/** A server is warm after so many times in a row without so much of a gain on its best before. */
const timesSteady = 3
const gain = 1.05

/**
 * Repeats `work` until its rate grows no more, or the time is over: a server is not compiled before, and one that has more to
 * do takes longer for it.
 */
const warmUp = async (
  { warmUp, warmUpPart }: Seconds,
  work: (seconds: number) => Promise<{ readonly result: LoadResult }>
): Promise<void> => {
  const end = performance.now() + warmUp * 1000
  let best = 0
  for (let steady = 0; steady < timesSteady && performance.now() < end; ) {
    const rate = rateOf((await work(warmUpPart)).result)
    steady = rate > best * gain ? 0 : steady + 1
    best = Math.max(best, rate)
  }
}

const waiting = (url: string) => `${url}?wait=true`

/** What a run costs that is waited for. */
interface Cost {
  readonly result: LoadResult
  readonly serverCpu: number | undefined
  readonly storeCpu: number | undefined
  readonly statements: number | undefined
}

/** How much a counter has grown for each of `units`. */
const change = (from: number | undefined, to: number | undefined, units: number) =>
  from === undefined || to === undefined ? undefined : (to - from) / units

const makeMeasures = ({ load, services }: Bench, running: Running, database: string) => {
  const { store } = running
  const storePid = store === "postgres" ? services.postgres.pid() : store?.pid
  const used = async () => ({
    server: cpuMillis(running.pid),
    store: storePid === undefined ? undefined : cpuMillis(storePid),
    statements: store === "postgres" ? await countStatements(services, database) : undefined
  })

  const wait = async (urls: ReadonlyArray<string>, connections: number, seconds: number): Promise<Cost> => {
    const before = await untilIdle(running)
    const from = await used()
    const result = await load({ urls: urls.map(waiting), connections, seconds })
    const to = await used()
    checkAnswers(result)
    checkWaited({ before, after: await untilIdle(running), requests: result.requests, connections })
    return {
      result,
      serverCpu: change(from.server, to.server, result.requests),
      storeCpu: change(from.store, to.store, result.requests),
      statements: change(from.statements, to.statements, result.requests)
    }
  }

  const accept = async (seconds: number, publishesFirst: boolean) => {
    const before = await untilAccepted(running)
    const result = await load({ urls: [running.url], connections, seconds })
    const after = await running.counts()
    checkAnswers(result)
    await checkAccepted({ before, after, requests: result.requests, connections }, running, publishesFirst)
    return { result, published: change(before.prompts, after.prompts, result.seconds) }
  }

  /** How many runs end in a second while nothing else is asked; of those that record the end of runs at all. */
  const backlog = async (seconds: number): Promise<number | undefined> => {
    const [before, begin] = [await running.counts(), performance.now()]
    await sleep(seconds * 1000)
    const [after, end] = [await running.counts(), performance.now()]
    const ended = (after.ended ?? 0) - (before.ended ?? 0)
    return ended === 0 ? undefined : ended / ((end - begin) / 1000)
  }

  return { wait, accept, backlog }
}

const rateOf = ({ requests, seconds }: LoadResult) => requests / seconds

const measureRunning = async (
  contender: Contender,
  running: Running,
  bench: Bench,
  database: string
): Promise<Figures> => {
  const { accept, backlog, wait } = makeMeasures(bench, running, database)
  const { seconds } = bench
  let figures: Figures = { startSeconds: running.startSeconds }
  await sleep(idleAfter)
  figures = { ...figures, idleMemory: memoryMegabytes(running.pid) }

  if (contender.waits !== "no") {
    const all = [running.url, ...running.urls]
    await warmUp(seconds, (part) => wait(all, connections, part))
    const oneTeam = await wait([running.url], connections, seconds.waiting)
    const manyTeams =
      contender.waits === "many teams" ? await wait(running.urls, connections, seconds.waiting) : undefined
    // Last, when all that is on its way is compiled: one caller brings it about ten times as slowly as 64.
    await warmUp(seconds, (part) => wait([running.url], 1, part))
    const alone = await wait([running.url], 1, seconds.alone)
    figures = {
      ...figures,
      aloneP50: alone.result.p50,
      aloneServerCpu: alone.serverCpu,
      aloneStoreCpu: alone.storeCpu,
      aloneStatements: alone.statements,
      oneTeamRate: rateOf(oneTeam.result),
      loadServerCpu: oneTeam.serverCpu,
      loadStoreCpu: oneTeam.storeCpu,
      loadStatements: oneTeam.statements,
      manyTeamsRate: manyTeams && rateOf(manyTeams.result)
    }
  }

  if (contender.accepts) {
    const publishesFirst = contender.publishesFirst === true
    await warmUp(seconds, (part) => accept(part, publishesFirst))
    const { published, result } = await accept(seconds.accepting, publishesFirst)
    figures = {
      ...figures,
      acceptedRate: rateOf(result),
      acceptedP50: result.p50,
      acceptedP99: result.p99,
      publishedRate: published,
      backlogRate: publishesFirst ? undefined : await backlog(seconds.backlog)
    }
  }
  return figures
}

export const takeTurn = async (contender: Contender, bench: Bench): Promise<Figures> => {
  const place = await openPlace(bench.services)
  try {
    return await measureRunning(contender, await contender.start(place), bench, place.database)
  } catch (error) {
    throw new Error(`${contender.name}: ${place.output()}`, { cause: error })
  } finally {
    await place.close()
  }
}
