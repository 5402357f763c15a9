/** Follows a run's events until its end, and connects again after each loss, as `EventSource` does. */
import { type ClientRequest, get } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

export interface Watched {
  readonly event: string
  readonly id: string
  readonly data: any
}

const parse = (block: string): ReadonlyArray<Watched> => {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1]
  const [data, event, id] = [field("data"), field("event"), field("id")]
  return data === undefined || event === undefined || id === undefined ? [] : [{ event, id, data: JSON.parse(data) }]
}

export class Watcher {
  readonly events: Array<Watched> = []
  connections = 0
  private readonly url: string
  private request: ClientRequest | undefined
  private isStopped = false

  constructor(url: string) {
    this.url = url
  }

  get text(): string {
    return this.events.map(({ data }) => data.text ?? "").join("")
  }

  /** Resolves after the last event, or once it is stopped. */
  async watch(): Promise<void> {
    while (!this.isStopped && this.events.at(-1)?.id !== "end") {
      await this.connect().catch(() => {})
      await sleep(20)
    }
  }

  stop(): void {
    this.isStopped = true
    this.request?.destroy()
  }

  private connect(): Promise<void> {
    const last = this.events.at(-1)?.id
    const headers = { accept: "text/event-stream", ...(last !== undefined && { "last-event-id": last }) }
    return new Promise((resolve, reject) => {
      this.request = get(this.url, { agent: false, headers }, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`answered ${response.statusCode}`))
        this.connections++
        let received = ""
        response.setEncoding("utf8").on("data", (chunk: string) => {
          const blocks = `${received}${chunk}`.split("\n\n")
          received = blocks.pop()!
          this.events.push(...blocks.flatMap(parse))
        })
        response.once("close", resolve)
      }).on("error", reject)
    })
  }
}
