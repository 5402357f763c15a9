/** The broker as a program in another language sees it: plain amqplib, and nothing of ours. */
import { type Channel, type ConsumeMessage, connect, type Options } from "amqplib"
import { Effect, type Scope } from "effect"

/** A channel of its own, closed with the scope. */
export const rawChannel = (url: string): Effect.Effect<Channel, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const model = await connect(url, { noDelay: true })
        model.on("error", () => {})
        const channel = await model.createChannel()
        channel.on("error", () => {})
        return { model, channel }
      }),
      ({ model }) => Effect.promise(() => model.close().catch(() => {}))
    ),
    ({ channel }) => channel
  )

/** A team's queue as an earlier `docs/reference/amqp.md` said to declare it: without its type. */
export const declareTeam = (channel: Channel, team: string, more: Record<string, unknown> = {}) =>
  Effect.promise(() =>
    channel.assertQueue(`team.${team}`, {
      durable: true,
      arguments: { "x-single-active-consumer": true, "x-dead-letter-exchange": "webhook.dlx", ...more }
    })
  )

/** Sends what a leader might reply. */
export const reply = (channel: Channel, body: string | Buffer, options: Options.Publish, routingKey = "") =>
  Effect.sync(() => {
    channel.publish("webhook.replies", routingKey, Buffer.isBuffer(body) ? body : Buffer.from(body), options)
  })

/** The next message of a queue, waited for. */
export const nextMessage = (channel: Channel, queue: string): Effect.Effect<ConsumeMessage> =>
  Effect.callback((resume) => {
    void channel.prefetch(1).then(() =>
      channel.consume(queue, (message) => {
        if (message === null) return
        void channel.cancel(message.fields.consumerTag).then(() => resume(Effect.succeed(message)))
      })
    )
  })
