import type { Channel, ConsumeMessage } from "amqplib"
import { Deferred, type Duration, Effect, Layer, Option, Queue } from "effect"
import { flow, identity } from "effect/Function"
import type { TeamName } from "../../domain/Team.ts"
import { whenTraced } from "../../telemetry/Span.ts"
import { finishBefore, handlePrompt, type PromptHandler, type Settlement } from "../Acknowledgement.ts"
import { type Delivery, LeaderBus, type Prompt } from "../Bus.ts"
import { makeCancellations } from "../Cancellations.ts"
import * as Broker from "./Broker.ts"
import type { AmqpOptions } from "./BusAmqp.ts"
import { listenForCancellations } from "./CancelListener.ts"
import { type Connection, call, openChannel, unavailable } from "./Connection.ts"
import * as Link from "./Link.ts"
import * as ProgressSender from "./ProgressSender.ts"
import * as Publisher from "./Publisher.ts"
import { declareTeamQueue, leaderArguments, repliesExchange, teamQueue } from "./Topology.ts"
import * as Trace from "./Trace.ts"
import { decodePrompt, encodeProgress, encodeReply } from "./Wire.ts"

interface LeadOptions {
  readonly team: TeamName
  readonly handle: PromptHandler
  readonly grace: Duration.DurationInput
}

const make = ({ queueType, url }: AmqpOptions) =>
  Effect.gen(function* () {
    const broker = Broker.make(url)
    const progressSender = ProgressSender.make()
    const publisher = yield* Publisher.make({
      broker,
      name: "leader replies",
      prepare: (_, connection) => progressSender.use(connection)
    })
    const cancellations = makeCancellations()

    /** Without a queue the reply is retried, because the server declares the queue when it connects. */
    const replyTo =
      (exchange: string, prompt: Prompt): Delivery["reply"] =>
      (reply) =>
        Effect.flatMap(publisher.publish([encodeReply(reply, prompt, exchange)]), (outcome) =>
          outcome === "confirmed"
            ? Effect.void
            : Effect.fail(unavailable(`there is no queue for replies to ${exchange}`))
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
          reply: replyTo(exchange, prompt.value),
          progress: (progress) =>
            Effect.sync(() => progressSender.send(encodeProgress(progress, prompt.value, exchange)))
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
        // Set up before the work, so that it closes later: a stopping leader still receives cancellations.
        const firstPrompt = yield* Deferred.make<void>()
        yield* listenForCancellations(connection, team, firstPrompt, cancellations.put)
        // Shut down when the leader stops. Unacknowledged prompts in it are redelivered.
        const inbox = yield* Queue.unbounded<ConsumeMessage>()
        let consumerTag = ""

        const settle = (message: ConsumeMessage, settlement: Settlement) =>
          Effect.gen(function* () {
            const isLost = yield* Deferred.isDone(connection.lost)
            const isStopping = yield* Queue.isShutdown(inbox)
            // The broker requeues it when the connection closes.
            if (isLost || (isStopping && settlement === "requeue")) return
            // Otherwise the broker would send the next prompt to a stopping leader.
            if (isStopping) yield* cancel(channel, consumerTag)
            yield* Effect.ignore(Effect.try(() => settleOn(channel, message, settlement)))
          })

        // A message that was taken is settled even if the leader stops.
        const next = Effect.flatMap(Queue.take(inbox), (message) =>
          Effect.uninterruptible(Effect.flatMap(workOn(message, options), (settlement) => settle(message, settlement)))
        )
        // After a lost connection, another leader may already have the prompt.
        const mayFinish = Effect.raceFirst(Effect.sleep(grace), Deferred.await(connection.lost))
        yield* Effect.acquireRelease(Effect.forkDaemon(Effect.interruptible(Effect.forever(next))), (fiber) =>
          Effect.zipRight(Queue.shutdown(inbox), finishBefore(mayFinish, fiber))
        )
        const serverVersion = connection.model.connection.serverProperties.version
        const consumer = yield* call(`consuming ${teamQueue(team)}`, () =>
          channel.consume(
            teamQueue(team),
            (message) => {
              if (message === null) return connection.markLost(`${teamQueue(team)} was deleted`)
              Deferred.unsafeDone(firstPrompt, Effect.void)
              inbox.unsafeOffer(message)
            },
            { arguments: leaderArguments(queueType, serverVersion) }
          )
        )
        consumerTag = consumer.consumerTag
        yield* Effect.logInfo(`leading the team ${team}`)
      })

    return LeaderBus.of({
      lead: (team, handle, { grace = 0 } = {}) =>
        Effect.asVoid(
          Link.make({
            broker,
            name: `leader ${team}`,
            use: (connection) => leadOn(connection, { team, handle, grace })
          })
        )
    })
  })

const cancel = (channel: Channel, consumerTag: string) =>
  Effect.ignore(call("cancelling the consumer", () => channel.cancel(consumerTag)))

const settleOn = (channel: Channel, message: ConsumeMessage, settlement: Settlement): void => {
  if (settlement === "ack") channel.ack(message)
  else channel.nack(message, false, settlement === "requeue")
}

/** The leader's side of the bus on RabbitMQ. Connects in the background. */
export const layer = (options: AmqpOptions): Layer.Layer<LeaderBus> => Layer.scoped(LeaderBus, make(options))
