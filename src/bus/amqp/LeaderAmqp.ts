import type { Channel, ConsumeMessage } from "amqplib"
import { Deferred, Duration, Effect, FiberSet, flow, identity, Layer, Option, Queue, Scope } from "effect"
import type { TeamName } from "../../domain/Team.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { finishBefore, handlePrompt, type PromptHandler, type Settlement } from "../Acknowledgement.ts"
import { type Delivery, LeaderBus, type Prompt } from "../Bus.ts"
import { makeCancellations } from "../Cancellations.ts"
import { makeFileRequests } from "../FileRequests.ts"
import * as Broker from "./Broker.ts"
import type { AmqpOptions } from "./BusAmqp.ts"
import { listenForCancellations } from "./CancelListener.ts"
import { type Connection, call, openChannel, openSideChannel, unavailable } from "./Connection.ts"
import * as Link from "./Link.ts"
import * as Publisher from "./Publisher.ts"
import {
  checkCancelExchange,
  declareTeamQueue,
  leaderArguments,
  repliesExchange,
  teamQueue,
  workLimit
} from "./Topology.ts"
import * as Trace from "./Trace.ts"
import { decodePrompt, encodeProgress, encodeReply, type Outgoing } from "./Wire.ts"

/**
 * A stopping leader keeps its place for this time after its last answer. The server may just have offered the run again, without
 * having recorded that answer; the next leader, without work, would take the offer and do the work twice.
 */
const staysAfterAnswer = Duration.seconds(1)

interface LeadOptions {
  readonly team: TeamName
  readonly handle: PromptHandler
  readonly grace: Effect.Effect<unknown>
}

/** Sends messages that may be lost: without confirmations, and on a channel whose failures do not affect the replies. */
interface ProgressSender {
  /** Uses the connection until the scope closes. */
  readonly use: (connection: Connection) => Effect.Effect<void, never, Scope.Scope>
  /** It has had a connection. */
  readonly isUsed: () => boolean
  /** Drops the message if the broker cannot take it at once. */
  readonly send: (message: Outgoing) => void
}

interface Open {
  readonly connection: Connection
  readonly channel: Channel
  /** Earlier messages are still in this process. */
  isFull: boolean
}

const makeProgressSender = (): ProgressSender => {
  let open: Open | undefined
  let isUsed = false
  const close = (channel: Channel) => {
    if (open?.channel === channel) open = undefined
  }
  return {
    use: (connection) =>
      openSideChannel(connection).pipe(
        Effect.tap((channel) => Effect.addFinalizer(() => Effect.sync(() => close(channel)))),
        Effect.map((channel) => {
          const opened = { connection, channel, isFull: false }
          channel.once("close", () => close(channel))
          channel.on("drain", () => {
            opened.isFull = false
          })
          open = opened
          isUsed = true
        }),
        Effect.catch(({ detail }) => Effect.logInfo(`this leader reports no progress: ${detail}`))
      ),
    isUsed: () => isUsed,
    send: ({ body, exchange, options, routingKey }) => {
      if (open === undefined || open.isFull || open.connection.blocked() !== undefined) return
      try {
        open.isFull = !open.channel.publish(exchange, routingKey, body, options)
      } catch {
        // The channel is closing.
      }
    }
  }
}

const make = ({ queueType, url }: AmqpOptions) =>
  Effect.gen(function* () {
    const broker = Broker.make(url)
    const scope = yield* Effect.scope
    const fork = yield* FiberSet.makeRuntime<never>()
    const progressSender = makeProgressSender()
    /** Both connect on first use: a server may lead no team. */
    const publisher = yield* Effect.cached(
      Scope.provide(
        Publisher.make({
          broker,
          name: "leader replies",
          prepare: (_, connection) => progressSender.use(connection)
        }),
        scope
      )
    )
    /** The connection for the prompts of all teams. */
    const shared = yield* Effect.cached(
      Scope.provide(Link.make({ broker, name: "leaders", use: () => Effect.void }), scope)
    )
    const cancellations = makeCancellations()
    const files = makeFileRequests()
    let limitLogged = false

    /** Without a queue the reply is retried, because the server declares the queue when it connects. */
    const replyTo =
      (exchange: string, prompt: Prompt): Delivery["reply"] =>
      (reply) =>
        publisher.pipe(
          Effect.flatMap(({ publish }) => publish(encodeReply(reply, prompt, exchange))),
          Effect.flatMap((outcome) =>
            outcome === "confirmed"
              ? Effect.void
              : Effect.fail(unavailable(`there is no queue for replies to ${exchange}`))
          )
        )

    const workOn = (message: ConsumeMessage, { handle, team }: LeadOptions): Effect.Effect<Settlement> => {
      const prompt = decodePrompt(message, team)
      if (Option.isNone(prompt)) {
        return Effect.as(
          Effect.logError(`a message on ${teamQueue(team)} is not a prompt and is rejected`),
          "reject" as const
        )
      }
      const parent = Trace.spanOf(message)
      // Even without tracing in this process: replies and started programs belong to the prompt's trace.
      const traced = flow(
        whenTraced("LeaderBus.handle", { kind: "consumer" }),
        parent === undefined ? identity : Effect.withParentSpan(parent)
      )
      const exchange = message.properties.replyTo ?? repliesExchange
      return handlePrompt(
        (delivery) => traced(handle(delivery)),
        {
          prompt: prompt.value,
          redelivered: message.fields.redelivered,
          cancelled: cancellations.of(prompt.value.run_id),
          ...files.of(prompt.value.run_id, replyTo(exchange, prompt.value)),
          progress: (progress) =>
            Effect.sync(() => {
              if (!progressSender.isUsed()) fork(Effect.asVoid(publisher))
              progressSender.send(encodeProgress(progress, prompt.value, exchange))
            })
        },
        Effect.interruptible
      )
    }

    /** Consumes with prefetch 1, so that the leader has at most one prompt. */
    const leadOn = (connection: Connection, options: LeadOptions) =>
      Effect.gen(function* () {
        const { grace, team } = options
        const channel = yield* openChannel(connection)
        yield* call(`declaring ${teamQueue(team)}`, () => declareTeamQueue(channel, team, queueType))
        yield* call("setting the prefetch", () => channel.prefetch(1))
        // Begins before the work, so that it closes later: a stopping leader still receives cancellations.
        const firstPrompt = yield* Deferred.make<void>()
        yield* listenForCancellations(connection, team, firstPrompt, {
          onCancel: cancellations.put,
          onFile: files.put
        })
        // Shut down when the leader stops. Unacknowledged prompts in it are redelivered.
        const inbox = yield* Queue.unbounded<ConsumeMessage>()
        let consumerTag = ""

        const settle = (message: ConsumeMessage, settlement: Settlement) =>
          Effect.gen(function* () {
            const isLost = yield* Deferred.isDone(connection.lost)
            const isStopping = inbox.state._tag === "Done"
            // The broker requeues it when the connection closes.
            if (isLost || (isStopping && settlement === "requeue")) return
            if (isStopping) {
              if (settlement === "ack") {
                yield* Effect.raceFirst(Effect.sleep(staysAfterAnswer), Deferred.await(connection.lost))
              }
              // Otherwise the broker would send the next prompt to a stopping leader.
              yield* cancel(channel, consumerTag)
            }
            yield* Effect.ignore(Effect.try(() => settleOn(channel, message, settlement)))
          })

        // A message that was taken is settled even if the leader stops.
        const next = Effect.flatMap(Queue.take(inbox), (message) =>
          Effect.uninterruptible(Effect.flatMap(workOn(message, options), (settlement) => settle(message, settlement)))
        )
        // After a lost connection, another leader may already have the prompt.
        const mayFinish = Effect.raceFirst(grace, Deferred.await(connection.lost))
        yield* Effect.acquireRelease(Effect.forkDetach(Effect.forever(next)), (fiber) =>
          Effect.andThen(Queue.shutdown(inbox), finishBefore(mayFinish, fiber))
        )
        const { serverProperties } = connection.model.connection
        const limit = workLimit(serverProperties)
        if (limit !== undefined && !limitLogged) {
          limitLogged = true
          yield* Effect.logWarning(limit)
        }
        const consumer = yield* call(`consuming ${teamQueue(team)}`, () =>
          channel.consume(
            teamQueue(team),
            (message) => {
              if (message === null) return connection.markLost(`${teamQueue(team)} was deleted`)
              Deferred.doneUnsafe(firstPrompt, Effect.void)
              Queue.offerUnsafe(inbox, message)
            },
            { arguments: leaderArguments(queueType, serverProperties.version) }
          )
        )
        consumerTag = consumer.consumerTag
        yield* Effect.logInfo(`leading the team ${team}`)
        yield* Effect.forkScoped(warnIfUnknown(connection, team))
      })

    return LeaderBus.of({
      lead: (team, handle, { grace = Effect.void } = {}) =>
        Effect.flatMap(shared, (link) =>
          Effect.asVoid(
            Link.make({
              broker,
              name: `leader ${team}`,
              within: link,
              use: (connection) => leadOn(connection, { team, handle, grace })
            })
          )
        )
    })
  })

const warnIfUnknown = (connection: Connection, team: TeamName) =>
  openSideChannel(connection).pipe(
    Effect.flatMap((channel) => call(`looking for the team ${team}`, () => checkCancelExchange(channel, team))),
    Effect.scoped,
    Effect.catch(() =>
      Effect.flatMap(Deferred.isDone(connection.lost), (isLost) => {
        if (isLost) return Effect.void
        return Effect.logWarning(
          `no server on this broker knows the team ${team}. Is its name right, and was it created?`
        )
      })
    )
  )

const cancel = (channel: Channel, consumerTag: string) =>
  Effect.ignore(call("cancelling the consumer", () => channel.cancel(consumerTag)))

const settleOn = (channel: Channel, message: ConsumeMessage, settlement: Settlement): void => {
  if (settlement === "ack") channel.ack(message)
  else channel.nack(message, false, settlement === "requeue")
}

/** The leader's side of the bus on RabbitMQ. Connects in the background. */
export const layer = (options: AmqpOptions): Layer.Layer<LeaderBus> => Layer.effect(LeaderBus, make(options))
