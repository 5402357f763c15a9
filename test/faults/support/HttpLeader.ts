/** A team's leader over HTTP, written from docs/reference/leaders-http.md alone. It records every delivery, and remembers no answer. */
import { randomUUID } from "node:crypto"
import { setMaxListeners } from "node:events"
import { request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { until } from "../../support/Until.ts"
import { answerTo } from "./Answers.ts"
import type { Cluster } from "./Cluster.ts"
import type { Delivered } from "./RecordingLeader.ts"

type Address = { readonly url: string }

/** How long it waits before it repeats a request. */
const retryMs = 100
/** How long it waits for an answer, in milliseconds. `next` takes up to 20 s. */
const answerWithin = 30_000

interface Answer {
  readonly status: number
  readonly body: any
}

/** The server refused the request for good. */
class Refused extends Error {}

export class HttpLeader {
  /** Each request goes to the next one, on a connection of its own, as through a balancer without stickiness. */
  servers: ReadonlyArray<Address>
  handle: (delivery: Delivered) => Promise<string> = async ({ prompt }) => answerTo(prompt)
  /** The server that gave the latest prompt. */
  givenBy: Address | undefined
  /** Runs whose work began during that on another. */
  readonly overlaps: Array<string> = []
  private readonly id = randomUUID()
  private readonly name: string
  private readonly team: string
  private readonly key: string
  private readonly log: Array<Delivered>
  private readonly dead = new AbortController()
  private running: Promise<void> = Promise.resolve()
  private turn = 0
  private atWork = 0

  private constructor(team: string, name: string, servers: ReadonlyArray<Address>, key: string, log: Array<Delivered>) {
    this.team = team
    this.name = name
    this.servers = servers
    this.key = key
    this.log = log
    setMaxListeners(0, this.dead.signal)
  }

  /** Leads, once the servers see it. */
  static async start(cluster: Cluster, servers: ReadonlyArray<Address>, team: string, name = "leader") {
    const created = await cluster.api(servers[0]!, "POST", `/api/teams/${team}/leader-keys`, { name })
    const leader = new HttpLeader(team, name, servers, created.key, cluster.deliveries)
    cluster.storage.onClose(() => leader.crash())
    leader.running = leader.run()
    for (const server of servers) await cluster.running(server, team)
    return leader
  }

  /** The process is gone, with its connections. */
  async crash(): Promise<void> {
    this.dead.abort()
    await this.running
  }

  /** Resolves with the log's first `count` deliveries once they are there. */
  async deliveries(count: number, limit?: number): Promise<ReadonlyArray<Delivered>> {
    await until(`${count} deliveries`, () => this.log.length >= count, limit)
    return this.log.slice(0, count)
  }

  private async run(): Promise<void> {
    while (!this.dead.signal.aborted) {
      try {
        const { body } = await this.post("next", { leader: this.id })
        if (body !== undefined) await this.work(body)
      } catch (error) {
        if (!this.dead.signal.aborted) throw error
      }
    }
  }

  private async work(prompt: any): Promise<void> {
    const delivery: Delivered = {
      run_id: prompt.run_id,
      correlation_id: prompt.correlation_id,
      prompt: prompt.prompt,
      team: this.team,
      leader: this.name,
      redelivered: prompt.redelivered,
      at: performance.now(),
      executed: true
    }
    this.log.push(delivery)
    if (this.atWork++ > 0) this.overlaps.push(delivery.run_id)
    const died = new Promise<never>((_, reject) =>
      this.dead.signal.addEventListener("abort", () => reject(new Error()))
    )
    const stop = new AbortController()
    try {
      const lost = this.show(delivery.run_id, stop.signal)
      const response = await Promise.race([this.handle(delivery), lost, died])
      stop.abort()
      await this.post("reply", { correlation_id: delivery.correlation_id, type: "response", response })
      delivery.acknowledgedAt = performance.now()
    } catch (error) {
      delivery.brokenOff = true
      if (!(error instanceof Refused)) throw error
    } finally {
      stop.abort()
      this.atWork--
    }
  }

  /** Shows that the work goes on. Rejects if the prompt is lost. */
  private async show(run_id: string, stopped: AbortSignal): Promise<never> {
    try {
      while (!stopped.aborted) await this.post("work", { leader: this.id, run_id })
    } catch (error) {
      if (!stopped.aborted && error instanceof Refused) throw error
    }
    return new Promise(() => {})
  }

  /** Repeats the request until a server has answered it. */
  private async post(path: string, body: object): Promise<Answer> {
    for (;;) {
      this.dead.signal.throwIfAborted()
      const server = this.servers[this.turn++ % this.servers.length]!
      const answer = await this.send(`${server.url}/leader/${path}`, JSON.stringify(body)).catch(() => undefined)
      if (answer !== undefined && answer.status < 300) {
        if (path === "next") this.givenBy = server
        return answer
      }
      if (answer !== undefined && answer.status !== 429 && answer.status < 500) {
        throw new Refused(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      }
      await sleep(retryMs)
    }
  }

  private send(url: string, body: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${this.key}`, "content-type": "application/json" }
      const options = {
        method: "POST",
        headers,
        agent: false,
        signal: this.dead.signal,
        timeout: answerWithin
      } as const
      const sending = request(url, options, (answer) => {
        const chunks: Array<Buffer> = []
        answer.on("data", (chunk) => chunks.push(chunk))
        answer.on("error", reject)
        answer.on("end", () => {
          const text = Buffer.concat(chunks).toString()
          if (!answer.complete) return reject(new Error("cut off"))
          resolve({ status: answer.statusCode ?? 0, body: text === "" ? undefined : JSON.parse(text) })
        })
      })
      sending.on("timeout", () => sending.destroy(new Error("no answer")))
      sending.on("error", reject)
      sending.end(body)
    })
  }
}
