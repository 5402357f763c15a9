import { describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as BusAmqp from "../../../src/bus/amqp/BusAmqp.ts"
import * as LeaderAmqp from "../../../src/bus/amqp/LeaderAmqp.ts"
import type { QueueType } from "../../../src/bus/amqp/Topology.ts"
import { freshVhost } from "../../support/fresh.ts"
import { contract } from "../contract/BusContract.ts"
import { patient } from "./OnRabbitMq.ts"

const onRabbitMq = (queueType: QueueType) =>
  Layer.unwrap(
    Effect.map(freshVhost, (address) => {
      const options = { url: patient(address), queueType }
      return Layer.merge(BusAmqp.layer(options), LeaderAmqp.layer(options))
    })
  )

// Its tests mostly wait for the broker, and each has its own virtual host.
describe.concurrent("the bus on RabbitMQ, classic queues", () => contract(onRabbitMq("classic")))

describe.concurrent("the bus on RabbitMQ, quorum queues", () =>
  contract(onRabbitMq("quorum"), { countsStandbys: false }))
