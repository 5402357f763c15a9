/** Callers that record each request, its answer, and when. */
import { Agent, request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

/** A webhook as its callers know it. */
export interface Webhook {
  readonly id: string
  readonly token: string
  readonly team: string
}

/** A team's chat, for whoever has the admin key. */
export interface Chat {
  readonly team: string
  readonly adminKey: string
}

/** One request and what came back. */
export interface Call {
  /** Unique; it is the prompt. */
  readonly nonce: string
  readonly target: Webhook | Chat
  readonly mode: "async" | "wait"
  /** Milliseconds, from `performance.now()`. */
  readonly sentAt: number
  answeredAt?: number
  /** Absent: no answer came, see `broken`. */
  status?: number
  body?: any
  retryAfter?: string
  /** Why the connection ended before an answer. */
  broken?: string
}

export interface CallOptions {
  readonly wait?: boolean
  readonly nonce?: string
  readonly key?: string
  /** What else is sent with this body. */
  readonly headers?: (body: string) => Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

let calls = 0

/** Milliseconds that an answer took; infinite while there is none. */
export const latency = ({ answeredAt = Number.POSITIVE_INFINITY, sentAt }: Call): number => answeredAt - sentAt

/** How long a caller waits after a refusal, before the next call. */
const afterRefusalMs = 100

const requestTo = (target: Webhook | Chat, nonce: string) =>
  "token" in target
    ? { path: `/webhook/trigger/${target.token}`, headers: {}, body: JSON.stringify({ variables: { nonce } }) }
    : {
        path: `/api/teams/${target.team}/messages`,
        headers: { authorization: `Bearer ${target.adminKey}` },
        body: JSON.stringify({ message: nonce })
      }

/** A message is a run, and its id is the run's. */
const withRunId = (body: any) => (body.message_id === undefined ? body : { ...body, run_id: body.message_id })

export class Callers {
  readonly calls: Array<Call> = []
  private readonly agent = new Agent({ keepAlive: false, maxSockets: Infinity })

  /** Never rejects: what went wrong is in the call. */
  trigger(server: { readonly url: string }, target: Webhook | Chat, options: CallOptions = {}): Promise<Call> {
    const call: Call = {
      nonce: options.nonce ?? `call ${++calls}`,
      target,
      mode: options.wait ? "wait" : "async",
      sentAt: performance.now()
    }
    this.calls.push(call)
    return this.send(server.url, call, options)
  }

  private send(base: string, call: Call, options: CallOptions): Promise<Call> {
    const { body, headers, path } = requestTo(call.target, call.nonce)
    return new Promise((resolve) => {
      const broken = (error: Error) => {
        call.broken ??= error.message
        resolve(call)
      }
      const sending = request(
        `${base}${path}${options.wait ? "?wait=true" : ""}`,
        {
          method: "POST",
          agent: this.agent,
          headers: {
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
            ...headers,
            ...(options.key === undefined ? {} : { "idempotency-key": options.key }),
            ...options.headers?.(body)
          },
          ...(options.signal ? { signal: options.signal } : {})
        },
        (answer) => {
          const chunks: Array<Buffer> = []
          answer.on("data", (chunk) => chunks.push(chunk))
          answer.on("error", broken)
          answer.on("end", () => {
            if (!answer.complete) return broken(new Error("cut off"))
            call.answeredAt = performance.now()
            call.status = answer.statusCode ?? 0
            if (answer.headers["retry-after"]) call.retryAfter = answer.headers["retry-after"]
            try {
              call.body = withRunId(JSON.parse(Buffer.concat(chunks).toString()))
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
  async sequence(server: { readonly url: string }, targets: ReadonlyArray<Webhook>): Promise<ReadonlyArray<Call>> {
    const calls: Array<Call> = []
    for (const target of targets) calls.push(await this.trigger(server, target))
    return calls
  }

  /**
   * Triggers without end, each time on another server and target, until the returned function is called; that resolves
   * when the last request has its answer. `lanes` callers side by side fire and forget, `waiters` wait for their answers.
   */
  load(
    servers: ReadonlyArray<{ readonly url: string }>,
    targets: ReadonlyArray<Webhook | Chat>,
    options: { readonly lanes?: number; readonly waiters?: number; readonly pauseMs?: number } = {}
  ): () => Promise<ReadonlyArray<Call>> {
    const { lanes = 4, waiters = 2, pauseMs = 10 } = options
    let stopping = false
    const calls: Array<Call> = []
    const lane = async (n: number, wait: boolean) => {
      for (let i = n; !stopping; i++) {
        const call = await this.trigger(servers[i % servers.length]!, targets[i % targets.length]!, { wait })
        calls.push(call)
        await sleep(call.status === 202 || call.status === 200 ? pauseMs : afterRefusalMs)
      }
    }
    const all = Promise.all([
      ...Array.from({ length: lanes }, (_, n) => lane(n, false)),
      ...Array.from({ length: waiters }, (_, n) => lane(n, true))
    ])
    return async () => {
      stopping = true
      await all
      return calls
    }
  }

  close(): void {
    this.agent.destroy()
  }
}
