/** One TCP connection to the broker: opened in bounded time, and its end always noticed. */
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from "amqplib"
import { Deferred, Effect, Redacted, type Scope } from "effect"
import { Unavailable } from "../../domain/Errors.ts"

export interface Connection {
  readonly model: ChannelModel
  /** Why the broker takes no messages for now (an alarm), when it does not. */
  readonly blocked: () => string | undefined
  /** Completes with the reason when the connection, or a channel that it cannot do without, is gone. */
  readonly lost: Deferred.Deferred<string>
  readonly markLost: (reason: string) => void
  /** Gives it up: nothing that was sent on it is waited for any longer. */
  readonly kill: (reason: string) => void
}

/** The other side must show life this often, in seconds; RabbitMQ's guide recommends 5 to 20. */
const usualHeartbeat = 10
/** Milliseconds, as all timeouts here. */
const connectTimeout = 5000
const callTimeout = 5000
const closeTimeout = 1000

export const unavailable = (detail: string): Unavailable => new Unavailable({ what: "broker", detail })

const reasonOf = (error: unknown): string =>
  error instanceof AggregateError
    ? error.errors.map(reasonOf).join(", ")
    : error instanceof Error
      ? error.message
      : String(error)

/** Host and port: what may be shown of an AMQP URL, which carries a password. */
export const addressOf = (url: Redacted.Redacted<string>): string => {
  // The error that `new URL` throws would show the URL.
  if (!URL.canParse(Redacted.value(url))) return "(not a URL)"
  const { host, pathname } = new URL(Redacted.value(url))
  return host + pathname
}

export class NoAnswer extends Error {
  override readonly message = "no answer from the broker"
}

/**
 * Rejects with `NoAnswer` after `ms` milliseconds. A promise's timeout and not Effect's, which does not end the wait of
 * a fiber that must not be interrupted, as in a finalizer.
 */
export const within = <A>(ms: number, promise: Promise<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new NoAnswer()), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })

/** One round trip to the broker. */
export const call = <A>(what: string, request: () => Promise<A>): Effect.Effect<A, Unavailable> =>
  Effect.tryPromise({
    try: () => within(callTimeout, request()),
    catch: (error) => unavailable(`${what}: ${reasonOf(error)}`)
  })

/** The stream under a connection: amqplib has no way to end one that the other side does not end too. */
const destroy = (model: ChannelModel, reason?: string): void => {
  const stream = (model.connection as unknown as { readonly stream: import("node:stream").Duplex }).stream
  stream.destroy(reason === undefined ? undefined : new Error(reason))
}

/** Where a connection attempt puts its result, so that none stays open whenever the attempt is interrupted. */
interface Attempt {
  model?: ChannelModel
  abandoned: boolean
}

const dial = (
  url: Redacted.Redacted<string>,
  name: string,
  heartbeat: number,
  attempt: Attempt
): Effect.Effect<ChannelModel, Unavailable> =>
  Effect.async<ChannelModel, Unavailable>((resume) => {
    const options = {
      noDelay: true,
      timeout: connectTimeout,
      clientProperties: { connection_name: `webhook-trigger ${name}` }
    }
    const start = async () => {
      const address = new URL(Redacted.value(url))
      if (!address.searchParams.has("heartbeat")) address.searchParams.set("heartbeat", String(heartbeat))
      return connect(address.href, options)
    }
    start().then(
      (model) => {
        // In amqplib an `error` event without a listener ends the process.
        model.on("error", () => {})
        if (attempt.abandoned) return destroy(model)
        attempt.model = model
        resume(Effect.succeed(model))
      },
      (error) => resume(Effect.fail(unavailable(error?.code === "ERR_INVALID_URL" ? "not a URL" : reasonOf(error))))
    )
  }).pipe(Effect.timeoutFail({ duration: connectTimeout, onTimeout: () => unavailable("no answer within 5 seconds") }))

/** Ends within a second, whether or not the broker answers. */
const tryToClose = (close: () => Promise<void>): Effect.Effect<void> =>
  Effect.ignore(Effect.tryPromise(() => within(closeTimeout, close())))

const close = (model: ChannelModel): Effect.Effect<void> =>
  Effect.ensuring(
    tryToClose(() => model.close()),
    Effect.sync(() => destroy(model))
  )

/** Opens a connection; closing the scope closes it, within a second whatever the broker does. */
export const open = Effect.fnUntraced(function* (
  url: Redacted.Redacted<string>,
  name: string,
  heartbeat = usualHeartbeat
): Effect.fn.Return<Connection, Unavailable, Scope.Scope> {
  const attempt: Attempt = { abandoned: false }
  yield* Effect.addFinalizer(() => {
    attempt.abandoned = true
    return attempt.model === undefined ? Effect.void : close(attempt.model)
  })
  const model = yield* dial(url, name, heartbeat, attempt)
  const lost = yield* Deferred.make<string>()
  const markLost = (reason: string) => Deferred.unsafeDone(lost, Effect.succeed(reason))
  let blocked: string | undefined
  let why = "closed"
  model.on("error", (error) => {
    why = reasonOf(error)
  })
  model.on("close", (error) => markLost(error ? reasonOf(error) : why))
  model.on("blocked", (reason) => {
    blocked = reason
  })
  model.on("unblocked", () => {
    blocked = undefined
  })
  const kill = (reason: string) => {
    markLost(reason)
    destroy(model, reason)
  }
  return { model, lost, blocked: () => blocked, markLost, kill }
})

/** Before the connection's close, which would overtake acknowledgements that still wait in the channel's buffer. */
const closeChannel =
  (connection: Connection) =>
  (channel: Channel): Effect.Effect<void> =>
    Effect.flatMap(Deferred.isDone(connection.lost), (isLost) =>
      isLost ? Effect.void : tryToClose(() => channel.close())
    )

interface OpenChannel {
  (connection: Connection, kind: "confirm"): Effect.Effect<ConfirmChannel, Unavailable, Scope.Scope>
  (connection: Connection): Effect.Effect<Channel, Unavailable, Scope.Scope>
}

/** A channel whose end is the end of its connection: one way to start again whatever goes wrong. */
export const openChannel: OpenChannel = (connection: Connection, kind?: "confirm") =>
  Effect.acquireRelease(
    call("opening a channel", async () => {
      const { markLost, model } = connection
      const channel = await (kind === "confirm" ? model.createConfirmChannel() : model.createChannel())
      let why = "channel closed"
      channel.on("error", (error) => {
        why = reasonOf(error)
      })
      channel.on("close", () => markLost(why))
      return channel as ConfirmChannel
    }),
    closeChannel(connection)
  )

/**
 * A channel whose end leaves the connection as it is, for what the broker may refuse; closing one that it has closed does
 * nothing.
 */
export const openSideChannel = (connection: Connection): Effect.Effect<Channel, Unavailable, Scope.Scope> =>
  Effect.acquireRelease(
    call("opening a channel", async () => {
      const channel = await connection.model.createChannel()
      channel.on("error", () => {})
      return channel
    }),
    closeChannel(connection)
  )
