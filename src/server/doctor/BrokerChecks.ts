import { Effect, type Redacted } from "effect"
import { addressOf, call, open } from "../../bus/amqp/Connection.ts"
import { declareProgressQueue, declareShared, type QueueType, workLimit } from "../../bus/amqp/Topology.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import { check, type Examined, failedAt, oneLine, passed } from "./Check.ts"

const names = ["broker reached", "broker signed in", "broker rights", "broker queues"]
const version = "broker version"
const [reached, signedIn, rights, queues] = [0, 1, 2, 3]

const isRefused = /ACCESS[_-]REFUSED/
/** The second is what amqplib says. */
const isWrongHost = /NOT[_-]ALLOWED|Expected ConnectionOpenOk/
const isOtherQueue = /PRECONDITION[_-]FAILED/

const notConnected = ({ detail }: Unavailable, place: string): Examined => {
  const text = oneLine(detail)
  if (isRefused.test(detail)) {
    return failedAt(names, signedIn, text, "Correct the user and the password in AMQP_URL.", [place])
  }
  if (isWrongHost.test(detail)) {
    const help = "Create the virtual host that AMQP_URL names, and give the user rights in it (docs/run/deploy.md)."
    return failedAt(names, rights, "the virtual host does not exist, or the user may not use it", help, [place])
  }
  const help = "Check that RabbitMQ runs, and the host and the port in AMQP_URL."
  return failedAt(names, reached, `${place}: ${text}`, help)
}

const notDeclared = ({ detail }: Unavailable, place: string): Examined => {
  const text = oneLine(detail)
  if (isOtherQueue.test(detail)) {
    const help =
      "Set AMQP_QUEUE_TYPE to the type that the queue was created with, or delete the queue while no server runs."
    return failedAt(names, queues, text, help, [place])
  }
  return failedAt(names, rights, text, "Give the user in AMQP_URL the server's rights (docs/run/deploy.md).", [place])
}

/** Whether a server can use the broker at `AMQP_URL`. Declares the server's exchanges and queues, as a start does. */
export const examineBroker = (url: Redacted.Redacted<string>, queueType: QueueType): Effect.Effect<Examined> => {
  const place = addressOf(url)
  return open(url, "doctor").pipe(
    Effect.mapError((error) => notConnected(error, place)),
    Effect.flatMap(({ model }) =>
      Effect.gen(function* () {
        const channel = yield* call("opening a channel", () => model.createChannel())
        // The error is the answer to the call, too.
        channel.on("error", () => {})
        yield* call("declaring", () => declareShared(channel, queueType))
        yield* call("declaring", () => declareProgressQueue(channel))
        const { serverProperties } = model.connection
        const limit = workLimit(serverProperties)
        const versionCheck =
          limit === undefined ? check(version, "yes", serverProperties.version) : check(version, "warning", limit)
        return { checks: [...passed(names, [place]).checks, versionCheck] }
      }).pipe(Effect.mapError((error) => notDeclared(error, place)))
    ),
    Effect.scoped,
    Effect.catch(Effect.succeed)
  )
}
