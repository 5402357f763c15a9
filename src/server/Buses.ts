/** The drivers of the bus with their settings, for the server and for the `leader` command: chosen here and nowhere else. */
import { type Effect, Layer, Option } from "effect"
import * as BusAmqp from "../bus/amqp/BusAmqp.ts"
import type { Bus } from "../bus/Bus.ts"
import * as BusMemory from "../bus/BusMemory.ts"
import { address, oneOf, optional, secret, type Values, withDefault } from "../engine/EnvironmentVariable.ts"
import * as Command from "../leader/Command.ts"
import * as Demo from "./Demo.ts"
import type { Driver } from "./Driver.ts"

export interface BusDriver extends Driver<Bus> {
  /** Its layer leads the demo team too. */
  readonly hasDemoTeam?: boolean
  /** Leads a team from another process; absent when no other process can reach it. */
  readonly lead?: (options: Command.CommandOptions) => Effect.Effect<never, Command.ProgramMissing>
}

export const settings = {
  /** Absent: the server's bus is in its own memory; a leader cannot do without. */
  amqpUrl: optional("AMQP_URL", secret(address(["amqp:", "amqps:"], "amqp://user:password@mq.example.com:5672"))),
  amqpQueueType: withDefault("AMQP_QUEUE_TYPE", oneOf("classic", "quorum"), "classic")
}

type Settings = Values<typeof settings>

const amqp = ({ amqpQueueType: queueType, amqpUrl }: Settings) =>
  Option.map(
    amqpUrl,
    (url): BusDriver => ({
      name: "rabbitmq",
      layer: BusAmqp.layer({ url, queueType }),
      lead: (options) => Command.runAmqp({ ...options, amqpUrl: url, queueType })
    })
  )

const memory: BusDriver = {
  name: "embedded",
  layer: Layer.provideMerge(Demo.leader, BusMemory.layer),
  embedded: { place: "the message bus is in this process's memory", replacedBy: "AMQP_URL" },
  hasDemoTeam: true
}

/** The first that the settings name, else the embedded one. */
export const choose = (settings: Settings): BusDriver =>
  Option.firstSomeOf([amqp(settings)]).pipe(Option.getOrElse(() => memory))
