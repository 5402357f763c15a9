/** Questions about queues, on a connection of their own: neither a blocked publisher nor a wrong answer hurts others. */
import type { Channel } from "amqplib"
import { Clock, Deferred, Effect, Queue, type Redacted, Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { TeamName } from "../../domain/Team.ts"
import { detached } from "../../engine/Detached.ts"
import type { TeamQueue } from "../Bus.ts"
import { type Connection, unavailable } from "./Connection.ts"
import * as Link from "./Link.ts"
import { prompts, type QueueType, teamQueue } from "./Topology.ts"

export interface Probe {
  /** The queue's state; when it had a consumer, as it was up to a second ago. */
  readonly queue: (team: TeamName) => Effect.Effect<TeamQueue, Unavailable>
  readonly removeQueue: (team: TeamName) => Effect.Effect<void, Unavailable>
  /** Leads prompts for the team into its queue from now on; false: it has none. */
  readonly bindQueue: (team: TeamName) => Effect.Effect<boolean, Unavailable>
  /** Succeeds when the broker answers. */
  readonly ping: Effect.Effect<void, Unavailable>
}

const answerTimeout = "3 seconds"
/** Milliseconds. */
const positiveFor = 1000
/** Questions asked at once; each takes a channel. */
const parallel = 32

const noAnswer = () => unavailable("the broker did not answer in 3 seconds")

const gone: TeamQueue = { exists: false, consumers: 0, messages: 0 }

/** The broker's refusal, which has closed the channel: https://www.rabbitmq.com/amqp-0-9-1-reference#constants */
type Refusal = { readonly code?: number; readonly message: string }
const notFound = 404
const preconditionFailed = 406

export const make = Effect.fnUntraced(function* (options: {
  readonly url: Redacted.Redacted<string>
  readonly queueType: QueueType
}): Effect.fn.Return<Probe, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const link = yield* Link.make({
    url: options.url,
    name: "probe",
    use: () => Effect.succeed<Array<Channel>>([])
  })
  // Not a semaphore: it wakes all who wait whenever one may go on.
  const turns = yield* Queue.unbounded<void>()
  yield* Queue.offerAll(turns, Array.from({ length: parallel }))

  const ask = <A>(question: (channel: Channel) => Promise<A>): Effect.Effect<A, Unavailable | { refusal: Refusal }> =>
    Effect.gen(function* () {
      const { connection, value: idle } = yield* link.get
      const attempt = async () => {
        const channel = idle.pop() ?? (await openChannel(connection))
        const answer = await question(channel)
        idle.push(channel)
        return answer
      }
      return yield* Effect.tryPromise({
        try: attempt,
        catch: (refusal) => ({ refusal: refusal as Refusal })
      }).pipe(
        Effect.timeoutFail({
          duration: answerTimeout,
          onTimeout: () => {
            connection.kill("no answer in time")
            return noAnswer()
          }
        }),
        detached
      )
    })

  const known = new Map<TeamName, { readonly at: number; readonly queue: TeamQueue }>()
  const asking = new Map<TeamName, Deferred.Deferred<TeamQueue, Unavailable>>()

  const look = (team: TeamName) =>
    Effect.acquireUseRelease(
      Queue.take(turns),
      () =>
        ask((channel) => channel.checkQueue(teamQueue(team))).pipe(
          Effect.timeoutFail({ duration: answerTimeout, onTimeout: noAnswer })
        ),
      () => Queue.offer(turns, undefined)
    ).pipe(
      Effect.map((ok): TeamQueue => ({ exists: true, consumers: ok.consumerCount, messages: ok.messageCount })),
      Effect.catchAll((error) =>
        "refusal" in error
          ? error.refusal.code === notFound
            ? Effect.succeed(gone)
            : Effect.fail(unavailable(error.refusal.message))
          : Effect.fail(error)
      ),
      Effect.tap((queue) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          if (queue.consumers > 0) known.set(team, { at, queue })
          else known.delete(team)
        })
      )
    )

  /** Asks in a fiber of its own: whoever waits may go away, and others wait for the same answer. */
  const begin = (team: TeamName) =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<TeamQueue, Unavailable>()
      asking.set(team, answer)
      yield* Effect.exit(look(team)).pipe(
        Effect.flatMap((exit) => {
          asking.delete(team)
          return Deferred.done(answer, exit)
        }),
        Effect.interruptible,
        Effect.forkIn(scope)
      )
      return answer
    })

  const queue = (team: TeamName) =>
    Effect.gen(function* () {
      const before = known.get(team)
      if (before !== undefined && (yield* Clock.currentTimeMillis) - before.at < positiveFor) return before.queue
      const others = asking.get(team)
      if (others !== undefined) {
        // Asked before this call: what it denies may have come true since.
        const answer = yield* Deferred.await(others)
        if (answer.consumers > 0) return answer
      }
      return yield* Deferred.await(asking.get(team) ?? (yield* begin(team)))
    })

  const removeQueue = (team: TeamName) =>
    Effect.gen(function* () {
      const { consumers, exists, messages } = yield* look(team)
      if (!exists || consumers > 0 || messages > 0) return
      // Quorum queues refuse the conditions with a connection error (540).
      const conditions = options.queueType === "quorum" ? {} : { ifUnused: true, ifEmpty: true }
      yield* Effect.catchIf(
        ask((channel) => channel.deleteQueue(teamQueue(team), conditions)),
        (error): error is { refusal: Refusal } => "refusal" in error,
        ({ refusal }) =>
          refusal.code === notFound || refusal.code === preconditionFailed
            ? Effect.void
            : Effect.fail(unavailable(refusal.message))
      )
    }).pipe(Effect.asVoid)

  const bindQueue = (team: TeamName) =>
    ask((channel) => channel.bindQueue(teamQueue(team), prompts, teamQueue(team))).pipe(
      Effect.as(true),
      Effect.catchIf(
        (error): error is { refusal: Refusal } => "refusal" in error,
        ({ refusal }) => (refusal.code === notFound ? Effect.succeed(false) : Effect.fail(unavailable(refusal.message)))
      )
    )

  const ping = Effect.catchIf(
    ask((channel) => channel.checkExchange("amq.direct")),
    (error): error is { refusal: Refusal } => "refusal" in error,
    ({ refusal }) => Effect.fail(unavailable(refusal.message))
  ).pipe(Effect.asVoid)

  return { queue, removeQueue, bindQueue, ping }
})

/** A refusal closes the channel and hurts nothing else. */
const openChannel = async ({ model }: Connection): Promise<Channel> => {
  const channel = await model.createChannel()
  channel.on("error", () => {})
  return channel
}
