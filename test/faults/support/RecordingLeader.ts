/** A team's leader that records every delivery, written from the bus contract alone; it can be slow, silent, or crash. */
import { EventEmitter, once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { type ChannelModel, type ConfirmChannel, type ConsumeMessage, connect } from "amqplib"
import { until } from "../../support/Until.ts"
import { answerTo } from "./Answers.ts"
import { declareTeamQueue, teamQueue } from "./TeamQueue.ts"

export interface Delivered {
  readonly run_id: string
  /** What a reply to it carries. */
  readonly correlation_id: string
  readonly prompt: string
  readonly team: string
  /** Which leader of the team. */
  readonly leader: string
  readonly redelivered: boolean
  /** Milliseconds, from `performance.now()`. */
  readonly at: number
  /** Whether the leader worked on it, or sent the answer that it remembered. */
  readonly executed: boolean
  /** When the broker had confirmed the answer and the prompt was acknowledged; absent: not yet. */
  acknowledgedAt?: number
  /** The leader crashed while it worked on it. */
  brokenOff?: true
}

/** What a leader replies: its answer, or why it has none. */
export type Reply = string | { readonly error: string }

export type Handle = (delivery: Delivered) => Reply | Promise<Reply>

/** How long it waits before it connects again. */
const retryMs = 100

const socketOf = (model: ChannelModel) => (model.connection as any).stream as import("node:net").Socket

export class RecordingLeader extends EventEmitter {
  readonly url: string
  readonly team: string
  readonly name: string
  readonly log: Array<Delivered>
  /** What it does with a prompt; may be changed while it runs. `never`: no answer and no acknowledgement. */
  handle: Handle | "never"
  /** Says when it starts to work on a prompt. */
  reportsStart = false
  /** Remembers what it answered, so that a redelivery is answered and not executed again. */
  private readonly answers: Map<string, Promise<Reply>>
  private readonly remembers: boolean
  private readonly reporting = new Map<string, (progress: object) => Promise<void>>()
  private model: ChannelModel | undefined
  private stopped = false
  private running: Promise<void> = Promise.resolve()
  /** Ends the current work as the end of its process would: what is not finished is not remembered. */
  private crashed: Promise<never> = new Promise(() => {})
  private die: () => void = () => {}
  /** Runs that were executed twice at the same time, or at the same time as another of this team. */
  readonly overlaps: Array<string> = []
  private static readonly working = new Map<string, Set<string>>()

  constructor(options: {
    readonly url: string
    readonly team: string
    readonly name?: string
    readonly handle?: Handle | "never"
    readonly log?: Array<Delivered>
    /** Shared with another leader, as a durable store would be; `false`: forgets everything. */
    readonly answers?: Map<string, Promise<Reply>> | false
  }) {
    super()
    this.setMaxListeners(0)
    this.url = options.url
    this.team = options.team
    this.name = options.name ?? "leader"
    this.handle = options.handle ?? ((delivery) => answerTo(delivery.prompt))
    this.log = options.log ?? []
    this.remembers = options.answers !== false
    this.answers = options.answers || new Map()
  }

  /** Consumes until it is stopped, and reconnects after every failure; resolves when it consumes for the first time. */
  async start(): Promise<this> {
    this.stopped = false
    this.crashed = new Promise((_, reject) => {
      this.die = () => reject(new Error("crashed"))
    })
    this.crashed.catch(() => {})
    const consuming = once(this, "consuming")
    this.running = this.run()
    await consuming
    return this
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.session()
      } catch {
        await sleep(retryMs)
      }
    }
  }

  private async session(): Promise<void> {
    const url = new URL(this.url)
    url.searchParams.set("heartbeat", "5")
    const model = await connect(url.href, { noDelay: true, timeout: 3000 })
    model.on("error", () => {})
    // amqplib does not notice the end of a stream that ends without an error.
    const closed = once(socketOf(model), "close")
    if (this.stopped) return void model.close().catch(() => {})
    this.model = model
    try {
      await Promise.race([this.consume(model), closed.then(() => Promise.reject(new Error("closed")))])
      this.emit("consuming")
      await closed
    } finally {
      this.model = undefined
      socketOf(model).destroy()
    }
  }

  private async consume(model: ChannelModel): Promise<void> {
    const channel = await model.createConfirmChannel()
    channel.on("error", () => {})
    channel.on("close", () => socketOf(model).destroy())
    await declareTeamQueue(channel, this.team)
    await channel.prefetch(1)
    await channel.consume(teamQueue(this.team), (message) => {
      // A null delivery: the queue is gone. The next session declares it again.
      if (message === null) socketOf(model).destroy()
      else void this.work(channel, message).catch(() => socketOf(model).destroy())
    })
  }

  private async work(channel: ConfirmChannel, message: ConsumeMessage): Promise<void> {
    const body = JSON.parse(message.content.toString())
    const { correlationId, messageId, replyTo } = message.properties
    if (body.run_id !== messageId) throw new Error("the ids disagree")
    const known = this.answers.get(body.run_id)
    const delivery: Delivered = {
      run_id: body.run_id,
      correlation_id: correlationId,
      prompt: body.prompt,
      team: this.team,
      leader: this.name,
      redelivered: message.fields.redelivered,
      at: performance.now(),
      executed: known === undefined
    }
    this.log.push(delivery)
    if (this.handle === "never" && known === undefined) return
    if (this.reportsStart && known === undefined) {
      // It works on it when that is confirmed; else not at all.
      delivery.brokenOff = true
      await this.send(channel, replyTo, correlationId, "started", {})
      delete delivery.brokenOff
    }
    this.reporting.set(delivery.run_id, (progress) =>
      this.send(channel, replyTo, correlationId, "progress", progress, { routingKey: "progress", persistent: false })
    )
    const answering = known ?? this.execute(delivery, this.handle as Handle)
    if (this.remembers) this.answers.set(delivery.run_id, answering)
    const answer = await answering
    await this.reply(channel, replyTo, correlationId, answer)
    channel.ack(message)
    delivery.acknowledgedAt = performance.now()
  }

  /** Resolves when the broker has it. */
  reportProgress({ run_id }: Delivered, progress: { readonly seq: number; readonly text: string }): Promise<void> {
    return this.reporting.get(run_id)!(progress)
  }

  private async execute(delivery: Delivered, handle: Handle): Promise<Reply> {
    const lane = `${this.url} ${this.team}`
    const working = RecordingLeader.working.get(lane) ?? new Set()
    RecordingLeader.working.set(lane, working)
    if (working.size > 0) this.overlaps.push(delivery.run_id)
    working.add(delivery.run_id)
    try {
      return await Promise.race([handle(delivery), this.crashed])
    } catch (error) {
      delivery.brokenOff = true
      this.answers.delete(delivery.run_id)
      throw error
    } finally {
      working.delete(delivery.run_id)
    }
  }

  private async reply(channel: ConfirmChannel, to: string, correlationId: string, answer: Reply): Promise<void> {
    const [type, body] =
      typeof answer === "string"
        ? (["response", { response: answer }] as const)
        : (["error", { message: answer.error }] as const)
    await this.send(channel, to, correlationId, type, body)
  }

  private async send(
    channel: ConfirmChannel,
    to: string,
    correlationId: string,
    type: string,
    body: object,
    { persistent = true, routingKey = "" } = {}
  ): Promise<void> {
    const content = Buffer.from(JSON.stringify(body))
    await new Promise<void>((resolve, reject) => {
      const options = { type, contentType: "application/json", correlationId, persistent }
      // A channel that closes may leave a confirm unanswered.
      const closed = () => reject(new Error("closed"))
      channel.once("close", closed)
      channel.publish(to, routingKey, content, options, (error) => {
        channel.off("close", closed)
        if (error) reject(error)
        else resolve()
      })
    })
  }

  /** The process is gone, with its connection: nothing is acknowledged. `start` starts the next process. */
  async crash(): Promise<void> {
    this.stopped = true
    if (this.model) socketOf(this.model).resetAndDestroy()
    this.die()
    await this.running
  }

  async stop(): Promise<void> {
    this.stopped = true
    const model = this.model
    if (model) {
      await model.close().catch(() => {})
      socketOf(model).destroy()
    }
    this.die()
    await this.running
  }

  /** Resolves with the log's first `count` deliveries once they are there. */
  async deliveries(count: number, limit?: number): Promise<ReadonlyArray<Delivered>> {
    await until(`${count} deliveries`, () => this.log.length >= count, limit)
    return this.log.slice(0, count)
  }
}
