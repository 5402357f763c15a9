/** What many watchers of one run with much progress cost the server, and the callers of other runs. */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { body, type Load, type LoadResult } from "../bench/load/Load.ts"
import { openPlace, type Place, untilAnswers } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { freePort } from "../support/Process.ts"
import { until } from "../support/Until.ts"
import { formatted, type Measured, medianOf } from "./Report.ts"
import { createWebhook, pathOf, startLeader, startServer } from "./Server.ts"

const watched = "team-2"
const seconds = 5
/** Few, so that the machine has time for the rest. */
const connections = 4

/** A program that answers requests on a port. */
const startControlled = async (place: Place, file: string, env: Readonly<Record<string, string>>) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const daemon = place.node(file.replace(/\W/g, "-"), [pathOf(file)], { CONTROL_PORT: String(port), ...env })
  await untilAnswers(daemon, url, performance.now())
  return async (method = "GET", query = "") => (await fetch(url + query, { method })).json() as Promise<any>
}

/** Megabytes of the process. */
export const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024

/** Seconds of processor time that the process has used, of user and system. */
export const processorOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
  // Clock ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) / 100
}

interface Window extends LoadResult {
  /** Of one core. */
  readonly processor: number
}

const measure = async (place: Place, load: Load, watchers: number, megabytes: number, rounds: number) => {
  await startLeader(place, ["team-1"])
  const leader = await startControlled(place, "progress.mjs", { AMQP_URL: place.amqpUrl, TEAM: watched })
  const server = await startServer(place, { settings: { WEBHOOK_TIMEOUT: "1 hour" } })
  for (const team of ["team-1", watched]) await server.request("POST", "/api/teams", { team })
  const [others, followed] = [await createWebhook(server, "team-1"), await createWebhook(server, watched)]
  const started = await fetch(followed.trigger, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body
  })
  const { run_id } = (await started.json()) as { readonly run_id: string }
  await until("the leader has the prompt", async () => (await leader()).prompts === 1)

  let highest = 0
  const sampling = setInterval(() => {
    highest = Math.max(highest, memoryOf(server.pid))
  }, 100)
  const call = async (): Promise<Window> => {
    const before = processorOf(server.pid)
    const result = await load({ urls: [`${others.trigger}?wait=true`], connections, seconds })
    return { ...result, processor: (processorOf(server.pid) - before) / seconds }
  }
  const report = () => leader("POST", `?megabytes=${megabytes / rounds}&seconds=${seconds}`)
  const states = {
    nothing: call,
    progress: async () => (await Promise.all([call(), report()]))[0]
  }
  /** Until all watchers have received what the last window reported. */
  const settle = async (received: () => Promise<number>) => {
    for (let before = -1, now = await received(); now !== before; ) {
      await sleep(1_000)
      ;[before, now] = [now, await received()]
    }
  }
  const results = async (received: () => Promise<number>) => {
    const all = { nothing: [] as Array<Window>, progress: [] as Array<Window> }
    highest = 0
    for (let round = 0; round < rounds; round++) {
      for (const state of ["nothing", "progress"] as const) {
        await settle(received)
        all[state].push(await states[state]())
      }
    }
    return { ...all, highest }
  }
  await call()
  const alone = await results(async () => 0)
  const clients = await startControlled(place, "watchers.mjs", {
    URL: `${followed.trigger}/runs/${run_id}/events`,
    WATCHERS: String(watchers)
  })
  await until(`${watchers} watchers`, async () => (await clients()).connected === watchers, 60_000)
  const followedResults = await results(async () => (await clients()).received)
  const { received } = await clients()
  await leader("DELETE")
  await until("all watchers have seen the end", async () => (await clients()).ended === watchers, 60_000)
  clearInterval(sampling)
  return { alone, followed: followedResults, received }
}

export const measureWatchers = async (
  services: Services,
  load: Load,
  watchers: number,
  megabytes: number,
  rounds: number
): Promise<Measured> => {
  const place = await openPlace(services)
  try {
    const { alone, followed, received } = await measure(place, load, watchers, megabytes, rounds)
    const base = medianOf(alone.nothing.map(({ p50 }) => p50))
    const row = (name: string, results: ReadonlyArray<Window>, highest?: number) => {
      const p50 = medianOf(results.map(({ p50 }) => p50))
      return [
        name,
        formatted(p50, 1),
        formatted(p50 / base, 2),
        formatted(medianOf(results.map(({ p99 }) => p99)), 1),
        formatted(medianOf(results.map(({ requests, seconds }) => requests / seconds))),
        formatted(medianOf(results.map(({ processor }) => processor)), 2),
        highest === undefined ? "" : formatted(highest)
      ]
    }
    return {
      title: `${formatted(watchers)} watchers of one run with ${formatted(megabytes)} MB of progress`,
      head: [
        "",
        "p50 of other runs, ms",
        "ratio (at most 1.1)",
        "p99, ms",
        "runs/s",
        "server's cores",
        "server, most MB"
      ],
      rows: [
        row("no watchers, no progress", alone.nothing),
        row("no watchers, progress", alone.progress, alone.highest),
        row("watchers, no progress", followed.nothing),
        row("watchers, progress", followed.progress, followed.highest)
      ],
      notes: [
        `${connections} callers who wait for runs of another team, in windows of ${seconds} s, with and without progress in turn; ${rounds} of each. Every watcher saw the run's end; together they received ${formatted(received / 1024 / 1024)} MB before.`
      ]
    }
  } catch (error) {
    throw new Error(place.output(), { cause: error })
  } finally {
    await place.close()
  }
}
