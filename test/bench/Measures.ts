/** The measurements of a contender. */
import { setTimeout as sleep } from "node:timers/promises"
import { checkAccepted, checkAnswers, checkWaited, untilAccepted, untilIdle } from "./Checks.ts"
import { type Contender, connections, type Running } from "./Contender.ts"
import type { Load, LoadResult } from "./load/Load.ts"
import type { Seconds } from "./Options.ts"
import { openPlace } from "./Place.ts"
import { countStatements, type Services } from "./Services.ts"
import { cpuMillis } from "./Usage.ts"

/** Milliseconds, seconds, MB, or a rate per second, as in `Report.ts`; absent where it does not apply. */
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
  | "oneTeamServerCpu"
  | "oneTeamStoreCpu"
  | "oneTeamStatements"
  | "manyTeamsServerCpu"
  | "manyTeamsStoreCpu"
  | "manyTeamsStatements"
  | "acceptedServerCpu"
  | "acceptedStoreCpu"

export interface Bench {
  readonly services: Services
  readonly load: Load
  readonly seconds: Seconds
}

export const rateOf = ({ requests, seconds }: LoadResult) => requests / seconds

/** A server is warm after this many parts in a row that gain less than this over the best before. */
const timesSteady = 3
const gain = 1.05

/**
 * Repeats `work` until its rate stops growing, or the time is over: a server's code is not compiled before, and larger
 * servers take longer.
 */
export const warmUp = async (
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

/** What each request cost. */
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

  const send = async (urls: ReadonlyArray<string>, connections: number, seconds: number): Promise<Cost> => {
    const from = await used()
    const result = await load({ urls, connections, seconds })
    const to = await used()
    checkAnswers(result)
    return {
      result,
      serverCpu: change(from.server, to.server, result.requests),
      storeCpu: change(from.store, to.store, result.requests),
      statements: change(from.statements, to.statements, result.requests)
    }
  }

  const wait = async (urls: ReadonlyArray<string>, connections: number, seconds: number): Promise<Cost> => {
    const before = await untilIdle(running)
    const cost = await send(urls.map(waiting), connections, seconds)
    checkWaited({ before, after: await untilIdle(running), requests: cost.result.requests, connections })
    return cost
  }

  const accept = async (seconds: number, publishesFirst: boolean) => {
    const before = await untilAccepted(running)
    const cost = await send([running.url], connections, seconds)
    const after = await running.counts()
    const { requests } = cost.result
    await checkAccepted({ before, after, requests, connections }, running, publishesFirst)
    return { ...cost, published: change(before.prompts, after.prompts, cost.result.seconds) }
  }

  /** How many runs end per second from the backlog, without other requests; only for contenders that record ends. */
  const backlog = async (seconds: number): Promise<number | undefined> => {
    const [before, begin] = [await running.counts(), performance.now()]
    await sleep(seconds * 1000)
    const [after, end] = [await running.counts(), performance.now()]
    const ended = (after.ended ?? 0) - (before.ended ?? 0)
    return ended === 0 ? undefined : ended / ((end - begin) / 1000)
  }

  return { wait, accept, backlog }
}

type Measures = ReturnType<typeof makeMeasures>

/** A contender with its own new processes, database, queues and folder. */
export interface Stage extends Measures {
  readonly contender: Contender
  readonly running: Running
  /** Does the work; a restless contender runs only meanwhile. Errors include the last output of its programs. */
  readonly perform: <A>(work: (stage: Stage) => Promise<A>) => Promise<A>
  readonly close: () => Promise<void>
}

export const openStage = async (contender: Contender, bench: Bench): Promise<Stage> => {
  const place = await openPlace(bench.services)
  const explained = async <A>(work: () => Promise<A>): Promise<A> => {
    try {
      return await work()
    } catch (error) {
      throw new Error(`${contender.name}: ${place.output()}`, { cause: error })
    }
  }
  try {
    const running = await explained(() => contender.start(place))
    const stage: Stage = {
      ...makeMeasures(bench, running, place.database),
      contender,
      running,
      perform: async (work) => {
        if (contender.restless) place.signal("SIGCONT")
        try {
          return await explained(() => work(stage))
        } finally {
          if (contender.restless) place.signal("SIGSTOP")
        }
      },
      close: place.close
    }
    if (contender.restless) place.signal("SIGSTOP")
    return stage
  } catch (error) {
    await place.close()
    throw error
  }
}
