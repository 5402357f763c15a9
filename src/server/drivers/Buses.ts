/** The bus drivers and their settings, for the server and for the `leader` command. */
import { type Layer, Option, type Redacted } from "effect"
import * as BusAmqp from "../../bus/amqp/BusAmqp.ts"
import { addressOf } from "../../bus/amqp/Connection.ts"
import * as LeaderAmqp from "../../bus/amqp/LeaderAmqp.ts"
import { teamQueue } from "../../bus/amqp/Topology.ts"
import type { Bus, LeaderBus } from "../../bus/Bus.ts"
import * as BusMemory from "../../bus/BusMemory.ts"
import type { TeamName } from "../../domain/Team.ts"
import { address, oneOf, optional, secret, type Values, withDefault } from "../../settings/EnvironmentVariable.ts"
import type { Driver } from "./Driver.ts"

export interface BusDriver extends Driver<Bus> {
  /** For leaders in this process. */
  readonly leaderBus: Layer.Layer<LeaderBus>
  /** The server leads the demo team on it. */
  readonly hasDemoTeam?: boolean
  /** For leaders in other processes; absent when none can reach it. */
  readonly leader?: {
    /** The URL that opens the broker. No program that works on prompts may read it. */
    readonly url: Redacted.Redacted<string>
    /** Where the team's prompts are, in words without a password. */
    readonly queueOf: (team: TeamName) => string
  }
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
      leaderBus: LeaderAmqp.layer({ url, queueType }),
      leader: {
        url,
        queueOf: (team) => `${teamQueue(team)} at ${addressOf(url)}`
      }
    })
  )

const memory: BusDriver = {
  name: "embedded",
  layer: BusMemory.layer,
  leaderBus: BusMemory.layer,
  embedded: { place: "the message bus is in this process's memory", replacedBy: "AMQP_URL" },
  hasDemoTeam: true
}

/** The first that the settings name, else the embedded one. */
export const choose = (settings: Settings): BusDriver => Option.getOrElse(amqp(settings), () => memory)
