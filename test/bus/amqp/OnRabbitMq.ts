/** A behaviour of the bus on a RabbitMQ of its own. */
import { it } from "@effect/vitest"
import { Effect, Metric, Redacted, References, type Scope } from "effect"
import * as BusAmqp from "../../../src/bus/amqp/BusAmqp.ts"
import { received } from "../../../src/bus/amqp/Metrics.ts"
import type { QueueType } from "../../../src/bus/amqp/Topology.ts"
import { Bus } from "../../../src/bus/Bus.ts"
import { freshVhost } from "../../support/fresh.ts"
import { untilUp } from "../contract/support.ts"

/** Without the usual heartbeats, which end the connections of a process that is busy for a few seconds. */
export const patient = (url: string) => Redacted.make(`${url}?heartbeat=60`)

export const behaviour = (
  name: string,
  test: (url: string) => Effect.Effect<unknown, unknown, Bus | Scope.Scope>,
  queueType: QueueType = "classic"
) =>
  it.live(name, () =>
    Effect.gen(function* () {
      const url = yield* freshVhost
      const layer = BusAmqp.layer({ url: patient(url), queueType })
      yield* Effect.provide(Effect.scoped(Effect.andThen(untilUp, test(url))), layer)
    }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))
  )

export const counted = (kind: string) =>
  Effect.map(Metric.value(Metric.withAttributes(received, { kind })), ({ count }) => count)
