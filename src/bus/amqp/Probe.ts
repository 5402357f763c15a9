/** Requests about queues, on a separate connection, so that neither blocked publishers nor errors affect other work. */
import type { Channel } from "amqplib"
import { Clock, Data, Deferred, Effect, Queue, type Scope } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { TeamName } from "../../domain/Team.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import type { Inspection, TeamQueue } from "../Bus.ts"
import type { Broker } from "./Broker.ts"
import { type Connection, NoAnswer, unavailable, within } from "./Connection.ts"
import * as Link from "./Link.ts"
import {
  bindTeamQueue,
  cancelExchange,
  checkMarker,
  declareCancelExchange,
  type QueueType,
  repliesQueue,
  teamQueue
} from "./Topology.ts"

interface Probe {
  /** The queue's state. If it had a consumer, the state may be up to a second old. */
  readonly queue: (team: TeamName) => Effect.Effect<TeamQueue, Unavailable>
  /** As `Bus.repliesWaiting`. */
  readonly repliesWaiting: Effect.Effect<number, Unavailable>
  /** As `Bus.withdraw`. */
  readonly withdraw: (team: TeamName) => Effect.Effect<number, Unavailable>
  readonly removeQueue: (team: TeamName) => Effect.Effect<void, Unavailable>
  /** Where the team's leaders are asked to stop: who publishes to an exchange that is not there loses the connection. */
  readonly declareCancelExchange: (team: TeamName) => Effect.Effect<void, Unavailable>
  /** As `Bus.inspect`. */
  readonly inspect: (team: TeamName) => Effect.Effect<Inspection, Unavailable>
  /** Binds the team's queue, so that it receives prompts. Returns false if there is no queue. */
  readonly bindQueue: (team: TeamName) => Effect.Effect<boolean, Unavailable>
  /** Succeeds if the broker responds. */
  readonly ping: Effect.Effect<void, Unavailable>
}

/** Milliseconds. */
const answerTimeout = 3000
/** Milliseconds. */
const positiveFor = 1000
/** The maximum number of concurrent checks. Each needs a channel. */
const parallel = 32

const noAnswer = () => unavailable("the broker did not answer in 3 seconds")

const noQueue: TeamQueue = { exists: false, consumers: 0, messages: 0 }

/** The broker rejected a request and closed the channel: https://www.rabbitmq.com/amqp-0-9-1-reference#constants */
class Refused extends Data.TaggedError("Refused")<{ readonly code: number | undefined; readonly message: string }> {}
const notFound = 404
const preconditionFailed = 406

/** Succeeds with `value` if the broker rejects the request with one of these codes. */
const onRefusal =
  <B>(codes: ReadonlyArray<number>, value: B) =>
  <A>(effect: Effect.Effect<A, Unavailable | Refused>): Effect.Effect<A | B, Unavailable> =>
    Effect.catchTag(effect, "Refused", ({ code, message }) =>
      code !== undefined && codes.includes(code) ? Effect.succeed(value) : Effect.fail(unavailable(message))
    )

export const make = Effect.fnUntraced(function* (options: {
  readonly broker: Broker
  readonly queueType: QueueType
}): Effect.fn.Return<Probe, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const clock = yield* Clock.Clock
  // The idle channels. Effect's `Pool` wakes all waiters when one may continue, and its wait for an opening channel cannot
  // be interrupted.
  const link = yield* Link.make({
    broker: options.broker,
    name: "probe",
    use: () => Effect.succeed<Array<Channel>>([])
  })
  const permits = yield* Queue.unbounded<void>()
  yield* Queue.offerAll(permits, Array.from({ length: parallel }))

  const request = <A>(operation: (channel: Channel) => Promise<A>): Effect.Effect<A, Unavailable | Refused> =>
    Effect.flatMap(link.get, ({ connection, value: idle }) => {
      const attempt = async () => {
        const channel = idle.pop() ?? (await openChannel(connection))
        const answer = await operation(channel)
        idle.push(channel)
        return answer
      }
      return Effect.tryPromise({
        try: () => within(answerTimeout, attempt()),
        catch: (error) => {
          if (!(error instanceof NoAnswer)) return refusalOf(error)
          connection.kill("no answer in time")
          return noAnswer()
        }
      })
    })

  const running = new Map<TeamName, { readonly at: number; readonly queue: TeamQueue }>()
  const underWay = new Map<TeamName, Deferred.Deferred<TeamQueue, Unavailable>>()

  const check = (team: TeamName): Effect.Effect<TeamQueue, Unavailable> =>
    Effect.acquireUseRelease(
      Queue.take(permits),
      () =>
        Effect.timeoutOrElse(
          request((channel) => channel.checkQueue(teamQueue(team))),
          { duration: answerTimeout, orElse: noAnswer }
        ),
      () => Queue.offer(permits, undefined)
    ).pipe(
      Effect.map((ok): TeamQueue => ({ exists: true, consumers: ok.consumerCount, messages: ok.messageCount })),
      onRefusal([notFound], noQueue),
      Effect.tap((queue) =>
        Effect.sync(() => {
          if (queue.consumers > 0) running.set(team, { at: stopwatch(clock), queue })
          else running.delete(team)
        })
      )
    )

  /** Checks in a separate fiber, because the caller may be interrupted while others wait for the same answer. */
  const begin = (team: TeamName) =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<TeamQueue, Unavailable>()
      underWay.set(team, answer)
      yield* Effect.exit(check(team)).pipe(
        Effect.flatMap((exit) => {
          underWay.delete(team)
          return Deferred.done(answer, exit)
        }),
        Effect.forkIn(scope)
      )
      return answer
    })

  // Effect's `Cache` would also share a negative result of a check that began before this call.
  const ask = (team: TeamName) =>
    Effect.gen(function* () {
      const others = underWay.get(team)
      if (others !== undefined) {
        // The check began before this call, so a leader may have started in the meantime.
        const answer = yield* Deferred.await(others)
        if (answer.consumers > 0) return answer
      }
      return yield* Deferred.await(underWay.get(team) ?? (yield* begin(team)))
    })

  const queue = (team: TeamName) =>
    Effect.suspend(() => {
      const before = running.get(team)
      return before !== undefined && stopwatch(clock) - before.at < positiveFor
        ? Effect.succeed(before.queue)
        : ask(team)
    })

  const withdraw = (team: TeamName) =>
    request((channel) => channel.purgeQueue(teamQueue(team))).pipe(
      Effect.map(({ messageCount }) => messageCount),
      onRefusal([notFound], 0)
    )

  const removeQueue = (team: TeamName) =>
    Effect.gen(function* () {
      const { consumers, messages } = yield* check(team)
      if (consumers > 0 || messages > 0) return
      // Quorum queues reject these conditions with a connection error (540).
      const conditions = options.queueType === "quorum" ? {} : { ifUnused: true, ifEmpty: true }
      yield* request((channel) => channel.deleteQueue(teamQueue(team), conditions)).pipe(
        onRefusal([notFound, preconditionFailed], undefined)
      )
      yield* request((channel) => channel.deleteExchange(cancelExchange(team))).pipe(onRefusal([notFound], undefined))
    })

  const bindQueue = (team: TeamName) =>
    request((channel) => bindTeamQueue(channel, team)).pipe(
      Effect.as(true),
      onRefusal([notFound], false),
      Effect.tap((isBound) =>
        Effect.sync(() => {
          if (!isBound) running.delete(team)
        })
      )
    )

  const inspect = Effect.fnUntraced(function* (team: TeamName): Effect.fn.Return<Inspection, Unavailable> {
    const isMarked = yield* request((channel) => checkMarker(channel, team)).pipe(
      Effect.as(true),
      onRefusal([notFound], false)
    )
    if (!isMarked) yield* bindQueue(team)
    const { consumers, exists, messages } = yield* check(team)
    return { isReplaced: !isMarked || !exists, consumers, messages }
  })

  const declareCancels = (team: TeamName) =>
    request((channel) => declareCancelExchange(channel, team)).pipe(onRefusal([], undefined))

  const repliesWaiting = request((channel) => channel.checkQueue(repliesQueue)).pipe(
    Effect.map(({ messageCount }) => messageCount),
    onRefusal([notFound], 0)
  )

  const ping = request((channel) => channel.checkExchange("amq.direct")).pipe(onRefusal([], undefined), Effect.asVoid)

  return {
    queue,
    inspect,
    repliesWaiting,
    withdraw,
    removeQueue,
    declareCancelExchange: declareCancels,
    bindQueue,
    ping
  }
})

const refusalOf = (error: unknown): Refused => {
  const { code, message } = error as { readonly code?: number; readonly message: string }
  return new Refused({ code, message })
}

/** A rejected request closes only its channel. */
const openChannel = async ({ model }: Connection): Promise<Channel> => {
  const channel = await model.createChannel()
  channel.on("error", () => {})
  return channel
}
