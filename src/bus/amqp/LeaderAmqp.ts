import type { Channel, ConsumeMessage } from "amqplib"
import { Deferred, type Duration, Effect, Layer, Option } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { TeamName } from "../../domain/Team.ts"
import { type Delivery, LeaderBus } from "../Bus.ts"
import { finishWithin, type Verdict, work } from "../Deliveries.ts"
import type { AmqpOptions } from "./BusAmqp.ts"
import { type Connection, call, openChannel, unavailable } from "./Connection.ts"
import * as Link from "./Link.ts"
import * as Publisher from "./Publisher.ts"
import { declareTeamQueue, leaderArguments, replies, teamQueue } from "./Topology.ts"
import * as Trace from "./Trace.ts"
import { decodePrompt, encodeReply } from "./Wire.ts"

interface Leading {
  readonly team: TeamName
  readonly handle: (delivery: Delivery) => Effect.Effect<void, Unavailable>
  readonly grace: Duration.DurationInput
}

const make = ({ queueType, url }: AmqpOptions) =>
  Effect.gen(function* () {
    const publisher = yield* Publisher.make({ url, name: "leader replies" })

    /** A reply that found no queue is tried again: the server declares it when it connects. */
    const replyTo =
      (queue: string): Delivery["reply"] =>
      (report) =>
        Effect.flatMap(publisher.publish(encodeReply(report, queue)), (outcome) =>
          outcome === "confirmed" ? Effect.void : Effect.fail(unavailable(`there is no queue ${queue} to reply to`))
        )

    const workOn = (message: ConsumeMessage, { handle, team }: Leading) =>
      Effect.gen(function* () {
        const prompt = decodePrompt(message, team)
        if (Option.isNone(prompt)) {
          yield* Effect.logError(`a message on ${teamQueue(team)} is no prompt, and is rejected`)
          return "rejected"
        }
        const reply = replyTo(message.properties.replyTo ?? replies)
        return yield* work(
          (delivery) =>
            Effect.withSpan(handle(delivery), "LeaderBus.handle", { kind: "consumer" }).pipe(Trace.within(message)),
          { prompt: prompt.value, redelivered: message.fields.redelivered, reply },
          Effect.interruptible
        )
      }) as Effect.Effect<Verdict>

    /** Consumes on one connection: prefetch 1, so that there is never more than one prompt here. */
    const leadOn = (connection: Connection, leading: Leading) =>
      Effect.gen(function* () {
        const { grace, team } = leading
        const channel = yield* openChannel(connection)
        yield* call(`declaring ${teamQueue(team)}`, () => declareTeamQueue(channel, team, queueType))
        yield* call("setting the prefetch", () => channel.prefetch(1))
        const incoming: Array<ConsumeMessage> = []
        const arrived = Effect.unsafeMakeLatch()
        const state = { stopping: false, consumer: "" }

        const step = Effect.suspend(() => {
          const message = state.stopping ? undefined : incoming.shift()
          if (message !== undefined)
            return Effect.flatMap(workOn(message, leading), (verdict) => settle(message, verdict))
          arrived.unsafeClose()
          return state.stopping ? Effect.void : Effect.interruptible(arrived.await)
        })
        const settle = (message: ConsumeMessage, verdict: Verdict) =>
          Effect.gen(function* () {
            const isLost = yield* Deferred.isDone(connection.lost)
            // It goes back by itself when the connection ends.
            if (isLost || (state.stopping && verdict === "cut short")) return
            // Once this one is acknowledged the broker would send the next, to a leader that is about to go.
            if (state.stopping) yield* cancel(channel, state.consumer)
            yield* Effect.ignore(Effect.try(() => settleOn(channel, message, verdict)))
          })

        // Forked where nothing interrupts: a prompt whose handler is done is settled.
        yield* Effect.acquireRelease(
          step.pipe(
            Effect.uninterruptible,
            Effect.repeat({ while: () => !state.stopping }),
            Effect.interruptible,
            Effect.forkDaemon
          ),
          (fiber) =>
            Effect.gen(function* () {
              state.stopping = true
              arrived.unsafeOpen()
              const isLost = yield* Deferred.isDone(connection.lost)
              yield* finishWithin(fiber, isLost ? 0 : grace)
            })
        )
        const serverVersion = connection.model.connection.serverProperties.version
        const { consumerTag } = yield* call(`consuming ${teamQueue(team)}`, () =>
          channel.consume(
            teamQueue(team),
            (message) => {
              if (message === null) {
                Deferred.unsafeDone(connection.lost, Effect.succeed(`${teamQueue(team)} was deleted`))
                return
              }
              incoming.push(message)
              arrived.unsafeOpen()
            },
            { arguments: leaderArguments(queueType, serverVersion) }
          )
        )
        state.consumer = consumerTag
        yield* Effect.logInfo(`leading the team ${team}`)
      })

    return LeaderBus.of({
      lead: (team, handle, { grace = 0 } = {}) =>
        Effect.asVoid(
          Link.make({ url, name: `leader ${team}`, use: (connection) => leadOn(connection, { team, handle, grace }) })
        )
    })
  })

const cancel = (channel: Channel, consumer: string) =>
  Effect.ignore(call("cancelling the consumer", () => channel.cancel(consumer)))

const settleOn = (channel: Channel, message: ConsumeMessage, verdict: Verdict): void => {
  if (verdict === "done") channel.ack(message)
  else channel.nack(message, false, verdict === "cut short")
}

/** The leader's side of the bus on RabbitMQ; it connects when it can. */
export const layer = (options: AmqpOptions): Layer.Layer<LeaderBus> => Layer.scoped(LeaderBus, make(options))
