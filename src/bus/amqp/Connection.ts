/** One TCP connection to the broker: opened in bounded time, and its end always noticed. */
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from "amqplib"
import { Deferred, type Duration, Effect, Redacted, type Scope } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import { detached } from "../../engine/Detached.ts"

export interface Connection {
  readonly model: ChannelModel
  /** Why the broker takes no messages for now (an alarm), when it does not. */
  readonly blocked: () => string | undefined
  /** Completes with the reason when the connection, or a channel that it cannot do without, is gone. */
  readonly lost: Deferred.Deferred<string>
  /** Gives it up at once: nothing that was sent on it is waited for any longer. */
  readonly kill: (reason: string) => void
}

/** The other side must show life this often, in seconds; RabbitMQ's guide recommends 5 to 20. */
const heartbeat = 10
const connectTimeout: Duration.DurationInput = "5 seconds"
const callTimeout: Duration.DurationInput = "5 seconds"
const closeTimeout: Duration.DurationInput = "1 second"

export const unavailable = (detail: string): Unavailable => new Unavailable({ what: "broker", detail })

const reasonOf = (error: unknown): string =>
  error instanceof AggregateError
    ? error.errors.map(reasonOf).join(", ")
    : error instanceof Error
      ? error.message
      : String(error)

/** Host and port: what may be shown of an AMQP URL, which carries a password. */
export const addressOf = (url: Redacted.Redacted<string>): string => {
  // The error of an URL that cannot be read shows it.
  if (!URL.canParse(Redacted.value(url))) return "(not an URL)"
  const { host, pathname } = new URL(Redacted.value(url))
  return host + pathname
}

/** One round trip to the broker. */
export const call = <A>(what: string, ask: () => Promise<A>): Effect.Effect<A, Unavailable> =>
  Effect.tryPromise({ try: ask, catch: (error) => unavailable(`${what}: ${reasonOf(error)}`) }).pipe(
    Effect.timeoutFail({ duration: callTimeout, onTimeout: () => unavailable(`${what}: no answer from the broker`) }),
    detached
  )

/** The stream under a connection: amqplib has no way to end one that the other side does not end too. */
const destroy = (model: ChannelModel, reason?: string): void => {
  const stream = (model.connection as unknown as { readonly stream: import("node:stream").Duplex }).stream
  stream.destroy(reason === undefined ? undefined : new Error(reason))
}

/** Where a connection attempt puts its result, so that none is left open whenever the attempt is interrupted. */
interface Dialled {
  model?: ChannelModel
  unwanted: boolean
}

const dial = (url: Redacted.Redacted<string>, name: string, into: Dialled): Effect.Effect<ChannelModel, Unavailable> =>
  Effect.async<ChannelModel, Unavailable>((resume) => {
    const options = { noDelay: true, timeout: 5000, clientProperties: { connection_name: `webhook-trigger ${name}` } }
    const attempt = async () => {
      const address = new URL(Redacted.value(url))
      if (!address.searchParams.has("heartbeat")) address.searchParams.set("heartbeat", String(heartbeat))
      return connect(address.href, options)
    }
    attempt().then(
      (model) => {
        // The loudest pitfall of amqplib: an `error` that nobody listens to ends the process.
        model.on("error", () => {})
        if (into.unwanted) return destroy(model)
        into.model = model
        resume(Effect.succeed(model))
      },
      (error) => resume(Effect.fail(unavailable(error?.code === "ERR_INVALID_URL" ? "not an URL" : reasonOf(error))))
    )
  }).pipe(Effect.timeoutFail({ duration: connectTimeout, onTimeout: () => unavailable("no answer within 5 seconds") }))

/** A farewell: waited for a second, and not minded when it fails. */
const bounded = (farewell: () => Promise<void>): Effect.Effect<void> =>
  Effect.tryPromise(farewell).pipe(Effect.timeout(closeTimeout), Effect.ignore, detached)

const close = (model: ChannelModel): Effect.Effect<void> =>
  Effect.ensuring(
    bounded(() => model.close()),
    Effect.sync(() => destroy(model))
  )

/** Opens a connection; closing the scope closes it, within a second whatever the broker does. */
export const open = Effect.fnUntraced(function* (
  url: Redacted.Redacted<string>,
  name: string
): Effect.fn.Return<Connection, Unavailable, Scope.Scope> {
  const dialled: Dialled = { unwanted: false }
  yield* Effect.addFinalizer(() => {
    dialled.unwanted = true
    return dialled.model === undefined ? Effect.void : close(dialled.model)
  })
  const model = yield* dial(url, name, dialled)
  const lost = yield* Deferred.make<string>()
  const end = (reason: string) => Deferred.unsafeDone(lost, Effect.succeed(reason))
  let blocked: string | undefined
  let why = "closed"
  model.on("error", (error) => {
    why = reasonOf(error)
  })
  model.on("close", (error) => end(error ? reasonOf(error) : why))
  model.on("blocked", (reason) => {
    blocked = reason
  })
  model.on("unblocked", () => {
    blocked = undefined
  })
  const kill = (reason: string) => {
    end(reason)
    destroy(model, reason)
  }
  return { model, lost, blocked: () => blocked, kill }
})

interface OpenChannel {
  (connection: Connection, kind: "confirm"): Effect.Effect<ConfirmChannel, Unavailable, Scope.Scope>
  (connection: Connection): Effect.Effect<Channel, Unavailable, Scope.Scope>
}

/** A channel whose end is the end of its connection: one way to start anew for whatever goes wrong. */
export const openChannel: OpenChannel = (connection: Connection, kind?: "confirm") =>
  Effect.acquireRelease(
    call("opening a channel", async () => {
      const { lost, model } = connection
      const channel = await (kind === "confirm" ? model.createConfirmChannel() : model.createChannel())
      let why = "channel closed"
      channel.on("error", (error) => {
        why = reasonOf(error)
      })
      channel.on("close", () => Deferred.unsafeDone(lost, Effect.succeed(why)))
      return channel as ConfirmChannel
    }),
    // Before the connection's close, which would overtake acknowledgements that still wait in the channel's buffer.
    (channel) =>
      Effect.flatMap(Deferred.isDone(connection.lost), (isLost) =>
        isLost ? Effect.void : bounded(() => channel.close())
      )
  )
