/** One server of two processes on one port. */
import { get } from "node:http"
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { Stopwatch } from "../../support/time/Stopwatch.ts"
import { until } from "../../support/Until.ts"
import { isAlive } from "../../support/Workers.ts"
import { answerWhenOpen } from "../support/Answers.ts"
import type { Call, Webhook } from "../support/Callers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import { measured } from "../support/Measured.ts"
import type { TestServer } from "../support/TestServer.ts"

const twoWorkers = async (cluster: Cluster) => {
  const found = await cluster.single({}, { env: { WORKERS: "2" } })
  await until("both workers are ready", () => found.server.output().includes("with 2 workers"))
  return found
}

/** The lines of the server's log that contain the text, with the number of the worker that wrote each. */
const logged = (server: TestServer, text: string) =>
  server
    .output()
    .split("\n")
    .filter((line) => line.includes(text))
    .map((line) => ({ line, worker: Number(/ worker=(\d+)/.exec(line)?.[1]) }))

/** Which worker sends the prompts. */
const dispatcher = (server: TestServer) => logged(server, "sends the prompts now").at(-1)!.worker

/** The worker that answered the call. */
const workerOf = (server: TestServer, { body }: Call) => logged(server, `run_id=${body.run_id}`)[0]?.worker

/** Calls, ten at a time and each on its own connection, until both workers have accepted some; returns all of them. */
const callsOfBoth = async (cluster: Cluster, server: TestServer, webhook: Webhook, wait: boolean) => {
  const calls: Array<Call> = []
  await until("both workers have accepted a run", async () => {
    const burst = Array.from({ length: 10 }, () => cluster.callers.trigger(server, webhook, { wait }))
    calls.push(...(await Promise.all(burst)))
    return new Set(calls.map((call) => workerOf(server, call))).size === 2
  })
  return calls
}

/** The metrics, asked for on a new connection. */
const metrics = ({ url }: TestServer): Promise<string> =>
  new Promise((resolve, reject) => {
    get(`${url}/metrics`, { agent: false }, (answer) => {
      let text = ""
      answer
        .on("data", (chunk) => (text += chunk))
        .on("end", () => resolve(text))
        .on("error", reject)
    }).on("error", reject)
  })

const accepted = async (server: TestServer) =>
  Number(
    /^http_server_requests_total\{method="POST",route="\/webhook\/trigger\/:token",status="202"\} (\d+)$/m.exec(
      await metrics(server)
    )?.[1] ?? 0
  )

/** Waits for the successor of a worker that was killed. */
const ready = (server: TestServer, worker: number) =>
  until("the successor is ready", () => server.output().includes(`Worker ${worker} is ready again`))

/** Kills the worker; resolves when another process has its number. */
const killed = async (server: TestServer, worker: number) => {
  const pid = server.workers().get(worker)!
  process.kill(pid, "SIGKILL")
  await until("another process takes its place", () => (server.workers().get(worker) ?? pid) !== pid)
}

describe.concurrent("the workers of one server", () => {
  faultTest("both accept runs, and each gives its waiting callers their answers", async ({ cluster }) => {
    const { server, webhook } = await twoWorkers(cluster)
    const calls = await callsOfBoth(cluster, server, webhook, true)
    expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 200))
    await cluster.checked({ count: calls.length })
  })

  faultTest("count together, and count on when one of them was killed", async ({ cluster }) => {
    const { server, webhook } = await twoWorkers(cluster)
    const calls = await callsOfBoth(cluster, server, webhook, false)
    // On a busy machine, a worker may answer too late, and counts as it did last.
    const together = (count: number) =>
      until(`both together count ${count}`, async () => (await accepted(server)) === count)
    await together(calls.length)
    for (let asked = 0; asked < 20; asked++) expect(await accepted(server)).toBe(calls.length)
    expect(await metrics(server)).toMatch(/^webhook_team_consumers\{team="deploy"\} 1$/m)

    let counting = true
    const counted: Array<number> = []
    const count = async () => {
      while (counting) counted.push(await accepted(server).catch(() => Number.NaN))
    }
    const counts = count()
    await killed(server, 1)
    await ready(server, 1)
    counting = false
    await counts
    // What failed was asked of the worker that was killed.
    expect(counted.filter((number) => !Number.isNaN(number) && number !== calls.length)).toEqual([])
    const more = await callsOfBoth(cluster, server, webhook, false)
    await together(calls.length + more.length)
  })

  faultTest("lose no accepted run when one is killed under load", async ({ cluster }) => {
    const { server, webhook } = await twoWorkers(cluster)
    const calls: Array<Call> = []
    const lane = async () => {
      while (calls.length < 500) calls.push(await cluster.callers.trigger(server, webhook))
    }
    const lanes = Array.from({ length: 20 }, lane)
    await until("the load is half done", () => calls.length >= 250)
    await killed(server, 2)
    await Promise.all(lanes)
    expect(calls.filter(({ status }) => status !== 202 && status !== undefined)).toEqual([])
    await ready(server, 2)
    const after = await callsOfBoth(cluster, server, webhook, true)
    expect(after.map(({ status }) => status)).toEqual(after.map(() => 200))
    await cluster.checked({ limits: { global: 20 } })
  })

  faultTest("answer waiting callers and accept nothing new when the server stops", async ({ cluster }) => {
    const { server, webhook, leader } = await twoWorkers(cluster)
    const earlier = await callsOfBoth(cluster, server, webhook, true)
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    const waiting = Array.from({ length: 20 }, () => cluster.callers.trigger(server, webhook, { wait: true }))
    const count = earlier.length + waiting.length
    await until("all callers wait", async () => (await cluster.storage.rows()).length === count)
    server.signal("SIGTERM")
    await until("it is not ready", async () => (await server.health("ready")) === 503)
    const isRefused = async () => (await cluster.callers.trigger(server, webhook)).status === 503
    await until("all workers refuse triggers", async () =>
      (await Promise.all([1, 2, 3, 4].map(isRefused))).every(Boolean)
    )
    expect(await metrics(server)).toContain("http_server_requests_total")
    gate.open()
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(waiting.map(() => 200))
    await server.exited()
    expect(server.exitCode).toBe(0)
    await cluster.checked({})
  })

  faultTest("end immediately at the second signal", async ({ cluster }) => {
    const { server, webhook, leader } = await twoWorkers(cluster)
    const workers = [...server.workers().values()]
    leader.handle = "never"
    const waiting = cluster.callers.trigger(server, webhook, { wait: true })
    await leader.deliveries(1)
    server.signal("SIGTERM")
    await until("it is not ready", async () => (await server.health("ready")) === 503)
    server.signal("SIGTERM")
    await server.exited()
    await until("the workers have ended", () => !workers.some(isAlive))
    expect((await waiting).status).toBeUndefined()
  })

  faultTest("are started again until they can start", async ({ cluster }) => {
    const { server, webhook } = await twoWorkers(cluster)
    const failures = () =>
      logged(server, "Worker 2: The server did not start: worker 2 ended before it was ready").length
    // The first successor starts at once, the others after 100, 200, … ms.
    const watch = new Stopwatch()
    while (failures() < 5) await killed(server, 2)
    measured("five starts of a worker that failed took", watch.stop())
    await ready(server, 2)
    await callsOfBoth(cluster, server, webhook, true)
    await cluster.checked({})
  })
})

// One after the other: they measure time.
describe("when a worker", () => {
  faultTest("that sends the prompts is killed, a worker sends them", async ({ cluster }) => {
    const { server, webhook } = await twoWorkers(cluster)
    await killed(server, dispatcher(server))
    const watch = new Stopwatch()
    const call = await cluster.callers.trigger(server, webhook, { wait: true })
    measured("from the end of the worker that sent the prompts to the next answer", watch.stop())
    expect(call.status).toBe(200)
    expect(server.dispatches()).toBeGreaterThan(1)
    await cluster.checked({})
  })

  faultTest("does not answer, the others do, and it counts as it did last", async ({ cluster }) => {
    const { server, webhook } = await twoWorkers(cluster)
    const calls = await callsOfBoth(cluster, server, webhook, false)
    await cluster.checked({ count: calls.length })
    await until("both together count all calls", async () => (await accepted(server)) === calls.length)
    const other = server.workers().get(3 - dispatcher(server))!
    process.kill(other, "SIGSTOP")
    const watch = new Stopwatch()
    expect(await accepted(server)).toBe(calls.length)
    expect((await cluster.callers.trigger(server, webhook)).status).toBe(202)
    measured("the metrics and a call beside a frozen worker took", watch.stop())
    process.kill(other, "SIGCONT")
    await cluster.checked({})
  })
})
