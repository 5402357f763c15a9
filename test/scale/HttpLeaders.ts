/** What many leaders over HTTP, each of a team of its own, cost the server while they wait, and how soon they get a prompt. */
import { randomUUID } from "node:crypto"
import { Agent, request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { body } from "../bench/load/Load.ts"
import { openPlace, type Place } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { until } from "../support/Until.ts"
import { formatted, type Measured, medianOf } from "./Report.ts"
import { createWebhook, type Server, startServer } from "./Server.ts"
import { memoryOf, processorOf } from "./Watchers.ts"

const idleSeconds = 20
/** Runs whose way to the leader is timed, one after the other, each of another team. */
const timed = 100

type Prompt = { readonly run_id: string; readonly correlation_id: string } | undefined

/** A leader that answers each prompt at once, and calls `onPrompt` before. Returns how to stop it. */
const startLeader = (url: string, key: string, agent: Agent, onPrompt: () => void): (() => void) => {
  const stopped = new AbortController()
  const post = (path: string, fields: object) =>
    new Promise<Prompt>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
      const options = { method: "POST", agent, headers, signal: stopped.signal }
      const sending = request(`${url}/leader/${path}`, options, (answer) => {
        let text = ""
        answer.on("data", (chunk) => {
          text += chunk
        })
        answer.on("end", () => {
          if (answer.statusCode! >= 300) reject(new Error(`${path}: ${answer.statusCode} ${text}`))
          else resolve(text === "" ? undefined : JSON.parse(text))
        })
      })
      sending.on("error", reject)
      sending.end(JSON.stringify(fields))
    })
  const lead = async () => {
    const leader = randomUUID()
    while (!stopped.signal.aborted) {
      const prompt = await post("next", { leader })
      if (prompt === undefined) continue
      onPrompt()
      await post("reply", { correlation_id: prompt.correlation_id, type: "response", response: "done" })
    }
  }
  lead().catch((error) => {
    if (!stopped.signal.aborted) console.error(error)
  })
  return () => stopped.abort()
}

/** Of one core, over some seconds. */
const idle = async ({ pid }: Server): Promise<number> => {
  const before = processorOf(pid)
  await sleep(idleSeconds * 1_000)
  return (processorOf(pid) - before) / idleSeconds
}

const measure = async (place: Place, leaders: number) => {
  const server = await startServer(place)
  const teams = Array.from({ length: leaders }, (_, n) => `team-${n}`)
  const keys: Array<string> = []
  for (const team of teams) {
    await server.request("POST", "/api/teams", { team })
    keys.push((await server.request("POST", `/api/teams/${team}/leader-keys`, { name: "scale" })).key)
  }
  await sleep(5_000)
  const before = { memory: memoryOf(server.pid), processor: await idle(server) }

  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const arrived = new Map<string, number>()
  const begun = performance.now()
  const stops = teams.map((team, n) =>
    startLeader(server.url, keys[n]!, agent, () => arrived.set(team, performance.now()))
  )
  const stopped = [...teams]
  const areRunning = async () => {
    while (stopped.length > 0) {
      if (!(await server.request("GET", `/api/teams/${stopped.at(-1)}`)).running) return false
      stopped.pop()
    }
    return true
  }
  await until("all teams are running", areRunning, 180_000, 500)
  const connected = (performance.now() - begun) / 1_000
  await sleep(5_000)
  const after = { memory: memoryOf(server.pid), processor: await idle(server) }

  const times: Array<number> = []
  for (let n = 0; n < timed; n++) {
    const team = teams[Math.floor((n * leaders) / timed)]!
    const { trigger } = await createWebhook(server, team)
    const sent = performance.now()
    await fetch(trigger, { method: "POST", headers: { "content-type": "application/json" }, body })
    await until("the leader has the prompt", () => arrived.has(team))
    times.push(arrived.get(team)! - sent)
  }
  for (const stop of stops) stop()
  agent.destroy()
  return { before, after, connected, times: times.sort((a, b) => a - b) }
}

export const measureHttpLeaders = async (services: Services, leaders: number): Promise<Measured> => {
  const place = await openPlace(services)
  try {
    const { after, before, connected, times } = await measure(place, leaders)
    const row = (name: string, { memory, processor }: typeof before) => [
      name,
      formatted(memory),
      formatted(processor, 2)
    ]
    return {
      title: `${formatted(leaders)} leaders over HTTP that wait`,
      head: ["", "server, MB", "server's cores"],
      rows: [row("none", before), row("each of a team of its own", after)],
      notes: [
        `Processor time over ${idleSeconds} s without runs. All teams were running ${formatted(connected)} s after the first leader asked. From the request of a trigger until the team's leader had the prompt, ${timed} runs one after the other: median ${formatted(medianOf(times))} ms, at most ${formatted(times.at(-1)!)} ms.`
      ]
    }
  } catch (error) {
    throw new Error(place.output(), { cause: error })
  } finally {
    await place.close()
  }
}
