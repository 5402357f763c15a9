/** A connection to the broker that opens in bounded time and reports its end. */
import type { Duplex } from "node:stream"
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from "amqplib"
import { Deferred, Effect, Redacted, type Scope } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import { DeadlinePassed, withDeadline } from "../../runtime/Deadline.ts"

export interface Connection {
  readonly model: ChannelModel
  /** The broker's alarm, if it accepts no messages at the moment. */
  readonly blocked: () => string | undefined
  /** Completes with the reason when the connection or a required channel is closed. */
  readonly lost: Deferred.Deferred<string>
  readonly markLost: (reason: string) => void
  /** Destroys the connection; all pending requests fail. */
  readonly kill: (reason: string) => void
}

/** In seconds. RabbitMQ's guide recommends 5 to 20. */
const usualHeartbeat = 10
/** In milliseconds, like all timeouts here. */
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

/** The part of an AMQP URL without the password. */
export const addressOf = (url: Redacted.Redacted<string>): string => {
  // The error of `new URL` would contain the URL.
  if (!URL.canParse(Redacted.value(url))) return "(not a URL)"
  const { host, pathname } = new URL(Redacted.value(url))
  return host + pathname
}

export class NoAnswer extends Error {
  override readonly message = "no answer from the broker"
}

/** Rejects with `NoAnswer` after `ms` milliseconds. Works in uninterruptible regions, unlike Effect's timeout. */
export const within = <A>(ms: number, promise: Promise<A>): Promise<A> =>
  withDeadline(ms, () => promise).catch((error) => {
    throw error instanceof DeadlinePassed ? new NoAnswer() : error
  })

/** One round trip to the broker. */
export const call = <A>(what: string, request: () => Promise<A>): Effect.Effect<A, Unavailable> =>
  Effect.tryPromise({
    try: () => within(callTimeout, request()),
    catch: (error) => unavailable(`${what}: ${reasonOf(error)}`)
  })

const streamOf = (model: ChannelModel): Duplex => (model.connection as unknown as { readonly stream: Duplex }).stream

/** Destroys the underlying stream, because amqplib cannot close a connection alone. */
const destroy = (model: ChannelModel, reason?: string): void => {
  streamOf(model).destroy(reason === undefined ? undefined : new Error(reason))
}

/** Sends all that amqplib writes in one turn of the event loop in one system call instead of one for each message. */
const writeTogether = (stream: Duplex): void => {
  const write = stream.write.bind(stream) as (...args: ReadonlyArray<unknown>) => boolean
  const flush = () => stream.uncork()
  stream.write = (...args: ReadonlyArray<unknown>) => {
    if (stream.writableCorked === 0) {
      stream.cork()
      process.nextTick(flush)
    }
    return write(...args)
  }
}

/** The state of a connection attempt, so that an interrupted attempt leaves no open connection. */
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
  Effect.callback<ChannelModel, Unavailable>((resume) => {
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
        // Without a listener, an `error` event would end the process.
        model.on("error", () => {})
        if (attempt.abandoned) return destroy(model)
        writeTogether(streamOf(model))
        attempt.model = model
        resume(Effect.succeed(model))
      },
      (error) => resume(Effect.fail(unavailable(error?.code === "ERR_INVALID_URL" ? "not a URL" : reasonOf(error))))
    )
  }).pipe(
    Effect.timeoutOrElse({
      duration: connectTimeout,
      orElse: () => Effect.fail(unavailable("no answer within 5 seconds"))
    })
  )

/** Ends within a second, even without a response. */
const tryToClose = (close: () => Promise<void>): Effect.Effect<void> =>
  Effect.ignore(Effect.tryPromise(() => within(closeTimeout, close())))

const close = (model: ChannelModel): Effect.Effect<void> =>
  Effect.ensuring(
    tryToClose(() => model.close()),
    Effect.sync(() => destroy(model))
  )

/** Opens a connection. It closes with the scope, within a second. */
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
  const markLost = (reason: string) => Deferred.doneUnsafe(lost, Effect.succeed(reason))
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

/** A part of the connection, for channels whose end must not affect the others. It also ends with the connection. */
export const partOf = (connection: Connection): Effect.Effect<Connection, never, Scope.Scope> =>
  Effect.gen(function* () {
    const lost = yield* Deferred.make<string>()
    const markLost = (reason: string) => Deferred.doneUnsafe(lost, Effect.succeed(reason))
    yield* Effect.forkScoped(Effect.map(Deferred.await(connection.lost), markLost))
    return { ...connection, lost, markLost, kill: markLost }
  })

/** Runs before the connection closes, which would otherwise discard buffered acknowledgements. */
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

/** A channel whose end also ends its connection, so that every error is handled by reconnecting. */
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

/** A channel for requests that the broker may reject. Its end does not affect the connection. */
export const openSideChannel = (connection: Connection): Effect.Effect<Channel, Unavailable, Scope.Scope> =>
  Effect.acquireRelease(
    call("opening a channel", async () => {
      const channel = await connection.model.createChannel()
      channel.on("error", () => {})
      return channel
    }),
    closeChannel(connection)
  )
