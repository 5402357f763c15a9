/** Callers that write down what they were told, and when. */
import { Agent, request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

/** A webhook as its callers know it. */
export interface Hook {
  readonly id: string
  readonly token: string
  readonly team: string
}

/** One request and what came back. */
export interface Call {
  /** Unique; it is the prompt. */
  readonly nonce: string
  readonly hook: Hook
  readonly mode: "async" | "wait"
  /** Milliseconds, from `performance.now()`. */
  readonly asked_at: number
  told_at?: number
  /** Absent: no answer came, see `broken`. */
  status?: number
  body?: any
  retry_after?: string
  /** The connection ended before an answer. */
  broken?: string
}

export interface CallOptions {
  readonly wait?: boolean
  readonly nonce?: string
  readonly key?: string
  readonly signal?: AbortSignal
}

let counter = 0
export const makeNonce = (): string => `${++counter}-${Math.random().toString(36).slice(2, 8)}`

export class Callers {
  readonly calls: Array<Call> = []
  private readonly agent = new Agent({ keepAlive: false, maxSockets: Infinity })

  /** Never rejects: what went wrong is in the record. */
  trigger(server: { readonly url: string }, hook: Hook, options: CallOptions = {}): Promise<Call> {
    const call: Call = {
      nonce: options.nonce ?? makeNonce(),
      hook,
      mode: options.wait ? "wait" : "async",
      asked_at: performance.now()
    }
    this.calls.push(call)
    return this.send(server.url, call, options)
  }

  private send(base: string, call: Call, options: CallOptions): Promise<Call> {
    const body = JSON.stringify({ variables: { nonce: call.nonce } })
    return new Promise((resolve) => {
      const broken = (error: Error) => {
        call.broken ??= error.message
        resolve(call)
      }
      const sending = request(
        `${base}/webhook/trigger/${call.hook.token}${options.wait ? "?wait=true" : ""}`,
        {
          method: "POST",
          agent: this.agent,
          headers: {
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
            ...(options.key === undefined ? {} : { "idempotency-key": options.key })
          },
          ...(options.signal ? { signal: options.signal } : {})
        },
        (answer) => {
          const chunks: Array<Buffer> = []
          answer.on("data", (chunk) => chunks.push(chunk))
          answer.on("error", broken)
          answer.on("end", () => {
            if (!answer.complete) return broken(new Error("cut off"))
            call.told_at = performance.now()
            call.status = answer.statusCode ?? 0
            if (answer.headers["retry-after"]) call.retry_after = answer.headers["retry-after"]
            try {
              call.body = JSON.parse(Buffer.concat(chunks).toString())
            } catch {
              call.body = undefined
            }
            resolve(call)
          })
        }
      )
      sending.on("error", broken)
      sending.end(body)
    })
  }

  /** One after the other. */
  async sequence(server: { readonly url: string }, hooks: ReadonlyArray<Hook>): Promise<ReadonlyArray<Call>> {
    const calls: Array<Call> = []
    for (const hook of hooks) calls.push(await this.trigger(server, hook))
    return calls
  }

  /**
   * Triggers all the time, each time another server and webhook, until the returned `stop` is called; that resolves when
   * the last request has its answer. `lanes` callers at once fire and forget, `waiters` wait for their answers.
   */
  load(
    servers: ReadonlyArray<{ readonly url: string }>,
    hooks: ReadonlyArray<Hook>,
    options: { readonly lanes?: number; readonly waiters?: number; readonly pauseMs?: number } = {}
  ): () => Promise<ReadonlyArray<Call>> {
    const { lanes = 4, waiters = 2, pauseMs = 10 } = options
    let stopping = false
    const made: Array<Call> = []
    const lane = async (n: number, wait: boolean) => {
      for (let i = n; !stopping; i++) {
        const call = await this.trigger(servers[i % servers.length]!, hooks[i % hooks.length]!, { wait })
        made.push(call)
        // A caller that was refused comes back a little later, not at once.
        await sleep(call.status === 202 || call.status === 200 ? pauseMs : 100)
      }
    }
    const all = Promise.all([
      ...Array.from({ length: lanes }, (_, n) => lane(n, false)),
      ...Array.from({ length: waiters }, (_, n) => lane(n, true))
    ])
    return async () => {
      stopping = true
      await all
      return made
    }
  }

  close(): void {
    this.agent.destroy()
  }
}
